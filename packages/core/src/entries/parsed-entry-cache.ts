import type { Entry } from '../ports/store.ts';
import { BoundedMap } from '../primitives/bounded-map.ts';

const PARSED_MAX = 1_000;

/**
 * Caches the parsed value of an entry until the entry changes. Callers read the entry itself every time, so they see
 * what another process has written; only parsing is saved.
 */
export class ParsedEntryCache<T> {
  readonly #parse: (name: string, entry: Entry) => T;
  readonly #parsed = new BoundedMap<string, { readonly version: number; readonly value: T }>(PARSED_MAX);

  constructor(parse: (name: string, entry: Entry) => T) {
    this.#parse = parse;
  }

  /** Returns the value that was parsed last, which may be outdated. */
  last(name: string): T | null {
    return this.#parsed.get(name)?.value ?? null;
  }

  of(name: string, entry: Entry): T {
    const known = this.#parsed.get(name);
    if (known?.version === entry.version) return known.value;
    const value = this.#parse(name, entry);
    this.#parsed.set(name, { version: entry.version, value });
    return value;
  }
}
