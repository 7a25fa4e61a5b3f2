import { Refusal } from '@tidemark/protocol';
import { UPLOAD_IDLE_MS, UPLOAD_LOCKED_RETRY_AFTER_S } from '../limits.ts';

/** Says that a call works on an upload. */
export interface UploadLock {
  /** Aborts when another call takes the upload over. */
  readonly signal: AbortSignal;
  /** Called when bytes arrive. */
  touch(): void;
}

interface Held extends UploadLock {
  readonly controller: AbortController;
  activeMs: number;
  readonly released: Promise<void>;
}

/**
 * Lets one call at this process work on an upload. The engine needs no lock; but of two calls at once one sends in vain. A
 * call from which nothing has come for a while belongs to a connection that is gone: the next one takes its place.
 */
export class UploadLocks {
  readonly #held = new Map<string, Held>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  async run<T>(id: string, work: (lock: UploadLock) => Promise<T>): Promise<T> {
    const other = this.#held.get(id);
    if (other !== undefined) {
      if (this.#nowMs() - other.activeMs < UPLOAD_IDLE_MS) throw locked();
      other.controller.abort();
      await other.released;
    }
    // Somebody else may have waited for the same one.
    if (this.#held.has(id)) throw locked();
    return this.#hold(id, work);
  }

  async #hold<T>(id: string, work: (lock: UploadLock) => Promise<T>): Promise<T> {
    let release = () => {};
    const controller = new AbortController();
    const held: Held = {
      controller,
      signal: controller.signal,
      activeMs: this.#nowMs(),
      touch: () => {
        held.activeMs = this.#nowMs();
      },
      released: new Promise((resolve) => {
        release = resolve;
      }),
    };
    this.#held.set(id, held);
    try {
      return await work(held);
    } finally {
      this.#held.delete(id);
      release();
    }
  }
}

function locked(): Refusal {
  const detail = 'another call works on this upload; wait for its end';
  return new Refusal('upload_locked', detail, [], UPLOAD_LOCKED_RETRY_AFTER_S);
}
