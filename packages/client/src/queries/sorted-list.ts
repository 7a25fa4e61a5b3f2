/** Items per chunk; a chunk with more is split in two. */
const CHUNK_ITEMS_MAX = 512;

interface Chunk<T, R> {
  readonly items: T[];
  /** What `rows` shows of the items; null after a change. */
  rows: readonly R[] | null;
}

/**
 * A sorted list as a sequence of sorted chunks. Finding an item takes O(log n) comparisons; a change moves items of one
 * chunk only. `rowOf` says what `rows` shows of an item; it is called again only for chunks that have changed.
 */
export class SortedList<T, R = T> {
  readonly #compare: (left: T, right: T) => number;
  readonly #rowOf: (item: T) => R;
  #chunks: Chunk<T, R>[] = [];
  #size = 0;

  constructor(compare: (left: T, right: T) => number, rowOf: (item: T) => R) {
    this.#compare = compare;
    this.#rowOf = rowOf;
  }

  get size(): number {
    return this.#size;
  }

  /** Replaces the content. */
  fill(items: T[]): void {
    items.sort(this.#compare);
    this.#size = items.length;
    this.#chunks = [];
    for (let at = 0; at < items.length; at += CHUNK_ITEMS_MAX / 2) {
      this.#chunks.push({ items: items.slice(at, at + CHUNK_ITEMS_MAX / 2), rows: null });
    }
  }

  /** Adds many items. Sorting takes what is sorted already as it is. */
  add(items: readonly T[]): void {
    this.fill([...this.#chunks.flatMap((chunk) => chunk.items), ...items]);
  }

  insert(item: T): void {
    const { chunk, index } = this.#find((other) => this.#compare(other, item) >= 0);
    // An item behind all others belongs to the last chunk.
    const number = Math.min(chunk, Math.max(this.#chunks.length - 1, 0));
    const into = this.#chunks[number];
    this.#size++;
    if (into === undefined) this.#chunks.push({ items: [item], rows: null });
    else {
      into.items.splice(number === chunk ? index : into.items.length, 0, item);
      into.rows = null;
      if (into.items.length > CHUNK_ITEMS_MAX) {
        this.#chunks.splice(number + 1, 0, { items: into.items.splice(CHUNK_ITEMS_MAX / 2), rows: null });
      }
    }
  }

  /** Removes the item that compares as equal. Returns false if there is none. */
  remove(item: T): boolean {
    const found = this.#locate(item);
    if (found === null) return false;
    this.#size--;
    found.in.items.splice(found.index, 1);
    found.in.rows = null;
    if (found.in.items.length === 0) this.#chunks.splice(found.chunk, 1);
    return true;
  }

  /** Replaces the item that compares as equal. Returns false if there is none. */
  replace(item: T): boolean {
    const found = this.#locate(item);
    if (found === null) return false;
    found.in.items[found.index] = item;
    found.in.rows = null;
    return true;
  }

  /** Makes `rows` call `rowOf` again for all items. */
  forgetRows(): void {
    for (const chunk of this.#chunks) chunk.rows = null;
  }

  /** The number of items before the first one that passes. All items behind that one must pass as well. */
  rank(passes: (item: T) => boolean): number {
    const { chunk, index } = this.#find(passes);
    let rank = index;
    for (let number = 0; number < chunk; number++) rank += this.#chunks[number]?.items.length ?? 0;
    return rank;
  }

  /** The item with this rank; undefined: there are not so many. */
  at(rank: number): T | undefined {
    let first = 0;
    for (const { items } of this.#chunks) {
      if (rank < first + items.length) return items[rank - first];
      first += items.length;
    }
    return undefined;
  }

  /** The rows of the items with these ranks. */
  rows(from: number, to: number): R[] {
    const parts: (readonly R[])[] = [];
    let first = 0;
    for (const chunk of this.#chunks) {
      const end = first + chunk.items.length;
      if (first >= to) break;
      if (end > from) {
        chunk.rows ??= chunk.items.map(this.#rowOf);
        parts.push(first >= from && end <= to ? chunk.rows : chunk.rows.slice(Math.max(from - first, 0), to - first));
      }
      first = end;
    }
    return ([] as R[]).concat(...parts);
  }

  #locate(item: T): { readonly in: Chunk<T, R>; readonly chunk: number; readonly index: number } | null {
    const { chunk, index } = this.#find((other) => this.#compare(other, item) >= 0);
    const found = this.#chunks[chunk];
    const other = found?.items[index];
    if (found === undefined || other === undefined || this.#compare(other, item) !== 0) return null;
    return { in: found, chunk, index };
  }

  /** Finds the first item that passes, as the number of its chunk and its index there. */
  #find(passes: (item: T) => boolean): { readonly chunk: number; readonly index: number } {
    const chunk = firstThat(this.#chunks.length, (at) => passes(last(this.#chunks[at]?.items)));
    const items = this.#chunks[chunk]?.items ?? [];
    return { chunk, index: firstThat(items.length, (at) => passes(items[at] as T)) };
  }
}

function last<T>(items: readonly T[] | undefined): T {
  return items?.[items.length - 1] as T;
}

/** Finds the first number below `count` that passes, by bisection; `count` if none does. */
function firstThat(count: number, passes: (at: number) => boolean): number {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (passes(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}
