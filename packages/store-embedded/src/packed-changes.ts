import type { Change, Kept } from '@tidemark/core';

/**
 * Changes on their way to the writer thread. Copying four long lists between threads costs a fraction of copying a
 * thousand small objects, each of which would carry the names of its fields.
 */
export interface PackedChanges {
  readonly ids: readonly string[];
  readonly records: readonly (string | null)[];
  readonly checksums: Float64Array;
  /** `NOTHING_EXPECTED` where a change expects nothing. */
  readonly expects: Float64Array;
}

const NOTHING_EXPECTED = -1;

export function packChanges(changes: readonly Change[]): PackedChanges {
  return {
    ids: changes.map((change) => change.id),
    records: changes.map((change) => change.record),
    checksums: Float64Array.from(changes, (change) => change.checksum),
    expects: Float64Array.from(changes, (change) => change.expect ?? NOTHING_EXPECTED),
  };
}

export function unpackChanges({ ids, records, checksums, expects }: PackedChanges): Change[] {
  return ids.map((id, index) => {
    const record = records[index] ?? null;
    const checksum = checksums[index] ?? 0;
    const expect = expects[index] ?? NOTHING_EXPECTED;
    return expect === NOTHING_EXPECTED ? { id, record, checksum } : { id, record, checksum, expect };
  });
}

/** Objects that are left alone, on the same way. */
export interface PackedKept {
  readonly ids: readonly string[];
  readonly expects: Float64Array;
}

export function packKept(kept: readonly Kept[]): PackedKept {
  return { ids: kept.map(({ id }) => id), expects: Float64Array.from(kept, ({ expect }) => expect) };
}

export function unpackKept({ ids, expects }: PackedKept): Kept[] {
  return ids.map((id, index) => ({ id, expect: expects[index] ?? 0 }));
}
