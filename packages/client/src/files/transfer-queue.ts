import { asClientError, type ClientError } from '../client-error.ts';
import type { Platform } from '../ports/platform.ts';
import { pauseMs } from '../transport/pause-ms.ts';

/** An attempt to send or fetch a file. */
export interface Attempt {
  readonly signal: AbortSignal;
  /** To be called when bytes have arrived: the next failure counts as the first one. */
  readonly onAdvance: () => void;
}

interface TransferQueueParts {
  readonly platform: Platform;
  readonly atOnce: number;
  /** The files to transfer, by SHA-256, in their order. One that was transferred is no longer among them. */
  readonly wanted: () => Iterable<string>;
  readonly mayRun: () => boolean;
  /** Whether a file takes the place of one that is not urgent. Absent: none does. */
  readonly isUrgent?: (sha256: string) => boolean;
  readonly transfer: (sha256: string, attempt: Attempt) => Promise<void>;
  /** Called after a failure with the number of failures in a row. Resolves to true if another attempt may succeed. */
  readonly onFailed: (sha256: string, error: ClientError, failures: number) => Promise<boolean>;
}

/** Transfers some files at the same time, each with its own pauses after failures, so that none waits for one that stalls. */
export class TransferQueue {
  readonly #parts: TransferQueueParts;
  readonly #running = new Map<string, AbortController>();
  readonly #failures = new Map<string, number>();
  /** The functions that end the pauses. */
  readonly #pauses = new Map<string, () => void>();

  constructor(parts: TransferQueueParts) {
    this.#parts = parts;
  }

  /** Begins what can begin, and ends what is not wanted any more, or everything if nothing may run. */
  follow(): void {
    const { mayRun, atOnce, isUrgent = () => false } = this.#parts;
    if (!mayRun()) {
      this.stop();
      return;
    }
    const wanted = [...this.#parts.wanted()];
    for (const sha256 of [...this.#running.keys()]) if (!wanted.includes(sha256)) this.abort(sha256);
    for (const sha256 of wanted) {
      if (this.#running.has(sha256) || this.#pauses.has(sha256)) continue;
      if (this.#running.size >= atOnce) {
        const other = [...this.#running.keys()].find((running) => !isUrgent(running));
        if (other === undefined || !isUrgent(sha256)) return;
        this.abort(other);
      }
      void this.#run(sha256);
    }
  }

  /** Ends everything under way, and all pauses. */
  stop(): void {
    for (const cancel of this.#pauses.values()) cancel();
    this.#pauses.clear();
    this.#failures.clear();
    for (const sha256 of [...this.#running.keys()]) this.abort(sha256);
  }

  /** Ends what is under way with a file. */
  abort(sha256: string): void {
    this.#running.get(sha256)?.abort();
    this.#running.delete(sha256);
  }

  /** Ends the pause of a file, because the app wants another attempt now. */
  hurry(sha256: string): void {
    this.#pauses.get(sha256)?.();
    this.#pauses.delete(sha256);
  }

  async #run(sha256: string): Promise<void> {
    const controller = new AbortController();
    const { signal } = controller;
    this.#running.set(sha256, controller);
    const onAdvance = () => void this.#failures.delete(sha256);
    try {
      await this.#parts.transfer(sha256, { signal, onAdvance });
      onAdvance();
    } catch (error) {
      if (!signal.aborted) await this.#fail(sha256, asClientError(error, 'store_failed'), signal);
    }
    if (signal.aborted) return;
    this.#running.delete(sha256);
    this.follow();
  }

  async #fail(sha256: string, error: ClientError, signal: AbortSignal): Promise<void> {
    const failures = (this.#failures.get(sha256) ?? 0) + 1;
    this.#failures.set(sha256, failures);
    const isRepeated = await this.#parts.onFailed(sha256, error, failures).catch(() => true);
    if (!isRepeated) this.#failures.delete(sha256);
    if (!isRepeated || signal.aborted) return;
    const { platform } = this.#parts;
    const cancel = platform.after(pauseMs(platform, failures, error.retryAfterMs), () => {
      this.#pauses.delete(sha256);
      this.follow();
    });
    this.#pauses.set(sha256, cancel);
  }
}
