/** Items per sorted chunk; a chunk with more is split in two. */
const CHUNK_ITEMS_MAX = 512;
/** Items among which the one that splits an unsorted chunk is chosen. */
const SAMPLE_ITEMS = 15;

interface Chunk<T, R> {
  /** If they are not sorted, the last one is the greatest all the same, except in the last chunk. */
  readonly items: T[];
  readonly isSorted: boolean;
  /** What `rows` shows of the items; null after a change. */
  rows: readonly R[] | null;
}

/**
 * A sorted list as a sequence of chunks. Every item of a chunk is before those of the next one. The items of a chunk are sorted when
 * they are needed: a chunk is split in two around one of its items until the part that is asked for is small (incremental
 * quicksort). So the first items of many take O(n) comparisons, and all of them O(n log n). After that, finding an item takes O(log n)
 * comparisons; a change moves items of one chunk only. `rowOf` says what `rows` shows of an item; it is called again only for
 * chunks that have changed.
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
    this.#size = items.length;
    this.#chunks = [unsorted(items)];
  }

  insert(item: T): void {
    const number = this.#chunkOf((other) => this.#compare(other, item) >= 0);
    // An item behind all others belongs to the last chunk.
    const into = this.#chunks[number] ?? this.#chunks[number - 1];
    this.#size++;
    if (into === undefined) this.#chunks.push({ items: [item], isSorted: true, rows: null });
    else if (into.isSorted) this.#insertIn(into, item);
    else into.items.splice(-1, 0, item);
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
    this.#sort(rank, rank + 1);
    let first = 0;
    for (const { items } of this.#chunks) {
      if (rank < first + items.length) return items[rank - first];
      first += items.length;
    }
    return undefined;
  }

  /** The rows of the items with these ranks. */
  rows(from: number, to: number): R[] {
    this.#sort(from, to);
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
    for (;;) {
      const chunk = this.#chunkOf(passes);
      const { items, isSorted } = this.#chunks[chunk] ?? { items: [], isSorted: true };
      if (isSorted) return { chunk, index: firstThat(items.length, (at) => passes(items[at] as T)) };
      this.#split(chunk, items);
    }
  }

  /** The number of the chunk with the first item that passes, if there is one. */
  #chunkOf(passes: (item: T) => boolean): number {
    const count = this.#chunks.length;
    return firstThat(count, (at) => {
      const { items, isSorted } = this.#chunks[at] as Chunk<T, R>;
      return (at === count - 1 && !isSorted) || passes(last(items));
    });
  }

  #insertIn(chunk: Chunk<T, R>, item: T): void {
    const { items } = chunk;
    items.splice(
      firstThat(items.length, (at) => this.#compare(items[at] as T, item) >= 0),
      0,
      item,
    );
    chunk.rows = null;
    if (items.length <= CHUNK_ITEMS_MAX) return;
    const behind = { items: items.splice(CHUNK_ITEMS_MAX / 2), isSorted: true, rows: null };
    this.#chunks.splice(this.#chunks.indexOf(chunk) + 1, 0, behind);
  }

  /** Sorts the items with these ranks, and as few others as possible. */
  #sort(from: number, to: number): void {
    let first = 0;
    for (let number = 0; number < this.#chunks.length && first < to; ) {
      const { items, isSorted } = this.#chunks[number] as Chunk<T, R>;
      if (isSorted || first + items.length <= from) {
        first += items.length;
        number++;
      } else this.#split(number, items, first < from ? 0.5 : (to - first) / items.length);
    }
  }

  /** Splits an unsorted chunk in two behind about this share of its items, or sorts it if it is small or all of it is asked for. */
  #split(number: number, items: T[], share = 0.5): void {
    const before: T[] = [];
    const behind: T[] = [];
    if (share < 1 && items.length > CHUNK_ITEMS_MAX) {
      const pivot = this.#pivotOf(items, share);
      for (const item of items) if (item !== pivot) (this.#compare(item, pivot) < 0 ? before : behind).push(item);
      before.push(pivot);
    }
    const isSplit = behind.length > 0;
    const parts = isSplit
      ? [unsorted<T, R>(before), unsorted<T, R>(behind)]
      : sortedChunks<T, R>(items.sort(this.#compare));
    this.#chunks.splice(number, 1, ...parts);
  }

  #pivotOf(items: readonly T[], share: number): T {
    const at = (number: number) => items[Math.floor((number * items.length) / SAMPLE_ITEMS)] as T;
    const sample = Array.from({ length: SAMPLE_ITEMS }, (_, number) => at(number)).sort(this.#compare);
    // Neither the first nor the last one, which may be far from the share.
    return sample[Math.min(Math.max(Math.ceil(share * SAMPLE_ITEMS), 1), SAMPLE_ITEMS - 2)] as T;
  }
}

function unsorted<T, R>(items: T[]): Chunk<T, R> {
  return { items, isSorted: false, rows: null };
}

function sortedChunks<T, R>(items: readonly T[]): Chunk<T, R>[] {
  const chunks: Chunk<T, R>[] = [];
  for (let at = 0; at < items.length; at += CHUNK_ITEMS_MAX / 2) {
    chunks.push({ items: items.slice(at, at + CHUNK_ITEMS_MAX / 2), isSorted: true, rows: null });
  }
  return chunks;
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
