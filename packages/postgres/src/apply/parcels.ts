import type { Attributes } from '@tidemark/backend';

/** What goes to one owner. */
export interface Owned {
  readonly owner: string;
  readonly objects: ReadonlyMap<string, Attributes>;
  readonly deletes: ReadonlySet<string>;
  /** About how large it is. */
  readonly bytes: number;
}

/** Rows of several owners in one call. What is larger by itself goes alone. */
const ROWS_MAX = 2_000;
const BYTES_MAX = 1_000_000;
/** Owners in one call. */
const OWNERS_MAX = 500;

/** What goes in one call each. */
export function* parcelsOf(all: Iterable<Owned>): Generator<readonly Owned[]> {
  let parcel: Owned[] = [];
  let [rows, bytes] = [0, 0];
  for (const owned of all) {
    const count = owned.objects.size + owned.deletes.size;
    const isFull = rows + count > ROWS_MAX || bytes + owned.bytes > BYTES_MAX || parcel.length === OWNERS_MAX;
    if (parcel.length > 0 && isFull) {
      yield parcel;
      [parcel, rows, bytes] = [[], 0, 0];
    }
    parcel.push(owned);
    rows += count;
    bytes += owned.bytes;
  }
  if (parcel.length > 0) yield parcel;
}
