import type { NetworkHints, Platform } from '@tidemark/client';
import { seededRandom } from '@tidemark/client-testing';

interface Timer {
  readonly atMs: number;
  readonly number: number;
  readonly callback: () => void;
}

/** Turns of the event loop without an open request after which all devices are taken to wait for timers. */
const QUIET_TURNS = 3;
const TURNS_MAX = 20_000;
/** Turns after which each takes a millisecond. */
const QUICK_TURNS = 2_000;
const FIRST_DAY_MS = 1_700_000_000_000;

/** A platform for devices with virtual time, which passes only when nothing else happens, and seeded random bytes. */
export class VirtualPlatform implements Platform {
  readonly tabs: Platform['tabs'] = null;
  readonly #bytes: (count: number) => Uint8Array;
  readonly #fetch: Platform['fetch'];
  readonly #timers = new Set<Timer>();
  readonly #networkListeners = new Set<() => void>();
  #nowMs = FIRST_DAY_MS;
  #count = 0;
  #underWay = 0;
  #quietTurns = 0;
  #isOnline = true;

  constructor(fetch: Platform['fetch'], seed = 1) {
    const random = seededRandom(seed);
    this.#bytes = (count) => random.bytes(count);
    this.#fetch = fetch;
  }

  nowMs(): number {
    return this.#nowMs;
  }

  randomBytes(count: number): Uint8Array {
    return this.#bytes(count);
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer: Timer = { atMs: this.#nowMs + delayMs, number: this.#count++, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  async fetch(url: string, init: RequestInit): Promise<Response> {
    this.#underWay++;
    try {
      return await this.#fetch(url, init);
    } finally {
      this.#underWay--;
    }
  }

  /** Waits to be aborted, without counting as an open request. */
  async hang(init: RequestInit): Promise<never> {
    this.#underWay--;
    try {
      return await aborted(init.signal ?? null);
    } finally {
      this.#underWay++;
    }
  }

  get network(): NetworkHints {
    return {
      isOnline: () => this.#isOnline,
      onChange: (listener) => {
        this.#networkListeners.add(listener);
        return () => this.#networkListeners.delete(listener);
      },
    };
  }

  setOnline(isOnline: boolean): void {
    this.#isOnline = isOnline;
    for (const listener of this.#networkListeners) listener();
  }

  /** Drops all timers and listeners of a killed process. */
  forgetTimers(): void {
    this.#timers.clear();
    this.#networkListeners.clear();
  }

  /** Call it after each turn of the event loop. After some idle turns the next timer fires. */
  tick(): void {
    this.#quietTurns = this.#underWay > 0 ? 0 : this.#quietTurns + 1;
    if (this.#quietTurns < QUIET_TURNS) return;
    this.#quietTurns = 0;
    this.#fireNext();
  }

  /** Runs until the condition holds. Timers fire in their order when all else is idle. */
  async until(condition: () => boolean, what = 'the condition'): Promise<void> {
    this.#quietTurns = 0;
    for (let turn = 0; turn < TURNS_MAX; ) {
      if (condition()) return;
      // Loading code takes real time.
      await new Promise((resolve) => (turn < QUICK_TURNS ? setImmediate(resolve) : setTimeout(resolve, 1)));
      // Hashing a password on another thread takes real time.
      if (this.#underWay === 0) turn++;
      this.tick();
    }
    throw new Error(`after ${TURNS_MAX} turns: not ${what}`);
  }

  /** Runs until the promise settles, and returns its result. */
  async finish<T>(promise: Promise<T>, what = 'finished'): Promise<T> {
    let isDone = false;
    const done = () => {
      isDone = true;
    };
    promise.then(done, done);
    await this.until(() => isDone, what);
    return promise;
  }

  /** Advances the virtual time and fires the timers that are due. */
  async advance(byMs: number): Promise<void> {
    const endMs = this.#nowMs + byMs;
    let isSpent = false;
    this.after(byMs, () => {
      isSpent = true;
    });
    await this.until(() => isSpent, `${byMs} ms later`);
    this.#nowMs = endMs;
  }

  #fireNext(): void {
    const [first] = [...this.#timers].sort((left, right) => left.atMs - right.atMs || left.number - right.number);
    if (first === undefined) return;
    this.#timers.delete(first);
    this.#nowMs = Math.max(this.#nowMs, first.atMs);
    first.callback();
  }
}

function aborted(signal: AbortSignal | null): Promise<never> {
  return new Promise((_, reject) => {
    if (signal?.aborted) reject(signal.reason as Error);
    else signal?.addEventListener('abort', () => reject(signal.reason as Error));
  });
}
