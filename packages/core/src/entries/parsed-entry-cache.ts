import type { Entry } from '../ports/store.ts';

/** Things remembered at once; beyond it the oldest are forgotten. */
const REMEMBERED_MAX = 1_000;

/**
 * Remembers what was made of an entry for as long as the entry stays as it is. The entry itself is read every time, so
 * that whatever another process has changed is seen; only taking it apart is spared.
 */
export class ParsedEntryCache<T> {
  readonly #make: (name: string, entry: Entry) => T;
  readonly #remembered = new Map<string, { readonly version: number; readonly made: T }>();

  constructor(make: (name: string, entry: Entry) => T) {
    this.#make = make;
  }

  /** What was made last; it may be outdated. */
  last(name: string): T | null {
    return this.#remembered.get(name)?.made ?? null;
  }

  of(name: string, entry: Entry): T {
    const known = this.#remembered.get(name);
    if (known?.version === entry.version) return known.made;
    const made = this.#make(name, entry);
    this.#remembered.delete(name);
    this.#remembered.set(name, { version: entry.version, made });
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size <= REMEMBERED_MAX) break;
      this.#remembered.delete(oldest);
    }
    return made;
  }
}
