import type { BuiltPage } from './built-page.ts';

/** Users whose memory is kept at most; those who pulled longest ago go first. */
const USERS_MAX = 16;
/** What is larger is not worth keeping. */
const BYTES_MAX = 8 * 2 ** 20;

/**
 * To be called when pages have been sent and nobody looks at their bytes any more: what they lie in is used again.
 * Nobody has to. Null: there is nothing to be used again.
 */
export type Release = (() => void) | null;

/**
 * Memory that pages of a user were sent from, for the next pages of the same user. A first sync is many large pages one
 * behind the other, and to make and collect memory for each costs more than to read and send them. It is never used for
 * anybody else: should it ever be given back too early, users could see no data but their own.
 */
export class PageMemory {
  readonly #kept = new Map<string, Uint8Array>();

  /** Whoever takes it has it alone. Null: there is none. */
  take(user: string): Uint8Array | null {
    const memory = this.#kept.get(user) ?? null;
    this.#kept.delete(user);
    return memory;
  }

  /** Only when nobody will look at it any more. */
  giveBack(user: string, memory: Uint8Array): void {
    const kept = this.#kept.get(user);
    if (memory.length > BYTES_MAX || (kept !== undefined && kept.length >= memory.length)) return;
    this.#kept.delete(user);
    this.#kept.set(user, memory);
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= USERS_MAX) break;
      this.#kept.delete(oldest);
    }
  }

  releaseOf(user: string, pages: readonly BuiltPage[]): Release {
    const used = pages.flatMap(({ memory }) => memory ?? []);
    if (used.length === 0) return null;
    return () => {
      for (const memory of used.splice(0)) this.giveBack(user, memory);
    };
  }
}
