import { Refusal } from '@tidemark/protocol';
import { failureOf, unavailable } from './failure.ts';

/** A large command gets one more millisecond for each of these bytes. */
const BYTES_PER_MS = 2_000;
/** Commands that wait for a reply, and their bytes. More are refused at once. */
const COUNT_MAX = 20_000;
const BYTES_MAX = 256 * 2 ** 20;

/** Limits how many commands wait for a reply, and for how long. */
export class CallsInFlight {
  readonly #answerMs: number;
  readonly #onLate: () => void;
  #count = 0;
  #failures = 0;
  #bytes = 0;

  /** `onLate` is called whenever a reply did not come in time. */
  constructor(answerMs: number, onLate: () => void) {
    this.#answerMs = answerMs;
    this.#onLate = onLate;
  }

  /** The additional time that the commands in flight may take because they are large. */
  get extraMs(): number {
    return this.#bytes / BYTES_PER_MS;
  }

  /** How many calls have failed because the server did not serve. */
  get failures(): number {
    return this.#failures;
  }

  /** Calls `send` with the moment, by the monotonic clock, at which the caller is told that the call has failed. */
  async run<T>(bytes: number, send: (endMs: number) => Promise<T>): Promise<T> {
    if (this.#count >= COUNT_MAX || this.#bytes + bytes > BYTES_MAX) {
      throw unavailable('too many commands wait for a reply');
    }
    this.#count += 1;
    this.#bytes += bytes;
    try {
      return await this.#withTimeout(this.#answerMs + bytes / BYTES_PER_MS, send);
    } catch (error) {
      const failure = failureOf(error);
      if (failure instanceof Refusal) this.#failures += 1;
      throw failure;
    } finally {
      this.#count -= 1;
      this.#bytes -= bytes;
    }
  }

  async #withTimeout<T>(limitMs: number, send: (endMs: number) => Promise<T>): Promise<T> {
    const reply = send(performance.now() + limitMs);
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        this.#onLate();
        reject(unavailable('it did not answer in time'));
      }, Math.ceil(limitMs) + 1);
    });
    try {
      return await Promise.race([reply, timeout]);
    } finally {
      clearTimeout(timer);
      // After a timeout nobody handles the failure of the reply.
      reply.catch(() => undefined);
    }
  }
}
