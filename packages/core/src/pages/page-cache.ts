import type { BuiltPage } from './build-page.ts';

/**
 * An LRU cache of pages of shared partitions, bounded by the text it holds. A page that is asked for while it is being
 * made is not made twice.
 */
export class PageCache {
  readonly #unitsMax: number;
  readonly #pages = new Map<string, BuiltPage>();
  readonly #making = new Map<string, Promise<BuiltPage>>();
  #units = 0;

  constructor(unitsMax: number) {
    this.#unitsMax = unitsMax;
  }

  /** Returns the cached page, or makes it. `make` says under which key its page is kept; null: it is not. */
  of(
    key: string,
    make: () => Promise<{ readonly page: BuiltPage; readonly keepAs: string | null }>,
  ): Promise<BuiltPage> {
    const known = this.get(key);
    if (known !== null) return Promise.resolve(known);
    return this.#making.get(key) ?? this.#make(key, make);
  }

  /** Null: the page is not cached, though it may be being made. */
  get(key: string): BuiltPage | null {
    const known = this.#pages.get(key);
    if (known === undefined) return null;
    this.#pages.delete(key);
    this.#pages.set(key, known);
    return known;
  }

  #make(key: string, make: Parameters<PageCache['of']>[1]): Promise<BuiltPage> {
    const making = make()
      .then(({ page, keepAs }) => {
        if (keepAs !== null) this.#keep(keepAs, page);
        return page;
      })
      .finally(() => this.#making.delete(key));
    this.#making.set(key, making);
    return making;
  }

  #keep(key: string, page: BuiltPage): void {
    this.#units -= this.#pages.get(key)?.body.units ?? 0;
    this.#pages.delete(key);
    this.#pages.set(key, page);
    this.#units += page.body.units;
    for (const [oldest, { body }] of this.#pages) {
      if (this.#units <= this.#unitsMax) return;
      this.#pages.delete(oldest);
      this.#units -= body.units;
    }
  }
}
