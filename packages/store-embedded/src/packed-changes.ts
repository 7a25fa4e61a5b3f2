import type { Change, Kept } from '@tidemark/core/ports';

/** A change as it is written: the record as the bytes that go to the disk. */
export interface WrittenChange extends Omit<Change, 'record'> {
  readonly record: Uint8Array | null;
  /** UTF-16 units of the record. */
  readonly units: number;
}

/**
 * Changes on their way to the writer thread. Copying four long lists between threads costs a fraction of copying a
 * thousand small objects, each of which would carry the names of its fields. The records are handed over as bytes, which
 * is what the disk wants: the writer, for whom all writes wait, has nothing left to encode.
 */
export interface PackedChanges {
  readonly ids: readonly string[];
  /** All records, one behind the other with a comma in between, as they are kept; in memory of their own. */
  readonly records: Uint8Array<ArrayBuffer>;
  /** Bytes of each record; `DELETED` where there is none. */
  readonly lengths: Float64Array;
  /** UTF-16 units of each record. */
  readonly units: Float64Array;
  readonly checksums: Float64Array;
  /** `NOTHING_EXPECTED` where a change expects nothing. */
  readonly expects: Float64Array;
}

const SEPARATOR = ',';
const NOTHING_EXPECTED = -1;
const DELETED = -1;

export function packChanges(changes: readonly Change[]): PackedChanges {
  const text = changes.map((change) => change.record ?? '').join(SEPARATOR);
  const byteLength = Buffer.byteLength(text);
  // Memory that is shared with nobody, since it is given away.
  const records = new Uint8Array(byteLength);
  encoder.encodeInto(text, records);
  return {
    ids: changes.map((change) => change.id),
    records,
    lengths: lengthsOf(changes, byteLength === text.length),
    units: numbersOf(changes, (change) => change.record?.length ?? 0),
    checksums: numbersOf(changes, (change) => change.checksum),
    expects: numbersOf(changes, (change) => change.expect ?? NOTHING_EXPECTED),
  };
}

const encoder = new TextEncoder();

function lengthsOf(changes: readonly Change[], isAscii: boolean): Float64Array {
  return numbersOf(changes, ({ record }) => {
    if (record === null) return DELETED;
    return isAscii ? record.length : Buffer.byteLength(record);
  });
}

/** What `Float64Array.from` does, without its iterator: that takes many times as long. */
function numbersOf<T>(items: readonly T[], numberOf: (item: T) => number): Float64Array {
  const numbers = new Float64Array(items.length);
  for (const [index, item] of items.entries()) numbers[index] = numberOf(item);
  return numbers;
}

export function unpackChanges({ ids, records, lengths, units, checksums, expects }: PackedChanges): WrittenChange[] {
  let at = 0;
  return ids.map((id, index) => {
    const length = lengths[index] ?? DELETED;
    const record = length === DELETED ? null : records.subarray(at, at + length);
    const checksum = checksums[index] ?? 0;
    const expect = expects[index] ?? NOTHING_EXPECTED;
    at += (record?.length ?? 0) + SEPARATOR.length;
    const recordUnits = units[index] ?? 0;
    // Written out twice: to spread one into the other takes longer than all the rest.
    return expect === NOTHING_EXPECTED
      ? { id, record, units: recordUnits, checksum }
      : { id, record, units: recordUnits, checksum, expect };
  });
}

/** Objects that are left alone, on the same way. */
export interface PackedKept {
  readonly ids: readonly string[];
  readonly expects: Float64Array;
}

export function packKept(kept: readonly Kept[]): PackedKept {
  return { ids: kept.map(({ id }) => id), expects: numbersOf(kept, ({ expect }) => expect) };
}

export function unpackKept({ ids, expects }: PackedKept): Kept[] {
  return ids.map((id, index) => ({ id, expect: expects[index] ?? 0 }));
}
