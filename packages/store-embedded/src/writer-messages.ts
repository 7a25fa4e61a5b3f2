import type { Change, Commit, UnchangedObject } from '@tidemark/core/ports';
import type { Failure } from './failure.ts';
import type { WriterChange, WriterTask } from './tasks.ts';

// What the main thread and the writer thread send each other.

export interface WriterData {
  readonly file: string;
  readonly mapBytes: number;
  /** How often the writer looks for readers that died with their process. */
  readonly readerCheckMs: number;
  /** With less free disk than this, the writer keeps a reserve for deletions. */
  readonly lowDiskBytes: number;
}

/** A message to the writer thread is a list of requests. */
export type WriterRequest =
  | { readonly kind: 'commit'; readonly id: number; readonly commit: Commit }
  /** `changes`, `kept` and `parts` of a large task arrive in messages before it, with the same id. */
  | { readonly kind: 'task'; readonly id: number; readonly task: WriterTask }
  | { readonly kind: 'changes'; readonly id: number; readonly changes: PackedChanges }
  | { readonly kind: 'kept'; readonly id: number; readonly kept: PackedUnchanged }
  | { readonly kind: 'parts'; readonly id: number; readonly parts: ReadonlyMap<string, string> }
  | { readonly kind: 'close' };

/** A message from the writer thread: the answers of the tasks of one batch. */
export interface WriterReply {
  readonly answers: readonly WriterAnswer[];
  /** How long each transaction of the batch took from its last write until it was on the disk. */
  readonly flushesMs: readonly number[];
}

export interface WriterAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly failure?: Failure;
}

/**
 * Changes in columns. Copying a few long lists between threads costs a fraction of copying a thousand small objects,
 * each with the names of its fields. The records are encoded before they are sent: all writes wait for the writer thread.
 */
interface PackedChanges {
  readonly ids: readonly string[];
  /** All records as UTF-8, one behind the other, in memory that is transferred. */
  readonly records: Uint8Array<ArrayBuffer>;
  /** Bytes of each record; `DELETED` for a deletion. */
  readonly lengths: Float64Array;
  /** UTF-16 units of each record. */
  readonly units: Float64Array;
  readonly checksums: Float64Array;
  /** `NOT_EXPECTED` for a change that expects nothing. */
  readonly expects: Float64Array;
  /** The files of those changes that have some, each with the index of its change. */
  readonly files: readonly (readonly [index: number, files: readonly string[]])[];
}

const DELETED = -1;
const NOT_EXPECTED = -1;
const encoder = new TextEncoder();

export function packChanges(changes: readonly Change[]): PackedChanges {
  const text = changes.map((change) => change.record ?? '').join('');
  const byteLength = Buffer.byteLength(text);
  const isAscii = byteLength === text.length;
  // Not a Buffer: those share their memory with others, and this one is transferred.
  const records = new Uint8Array(byteLength);
  encoder.encodeInto(text, records);
  return {
    ids: changes.map((change) => change.id),
    records,
    lengths: numbersOf(changes, ({ record }) => {
      if (record === null) return DELETED;
      return isAscii ? record.length : Buffer.byteLength(record);
    }),
    units: numbersOf(changes, ({ record }) => record?.length ?? 0),
    checksums: numbersOf(changes, ({ checksum }) => checksum),
    expects: numbersOf(changes, ({ expect }) => expect ?? NOT_EXPECTED),
    files: changes.flatMap(({ files }, index) => (files === undefined ? [] : [[index, files] as const])),
  };
}

/** Does what `Float64Array.from` does in a fraction of the time. */
function numbersOf<T>(items: readonly T[], numberOf: (item: T) => number): Float64Array {
  const numbers = new Float64Array(items.length);
  for (const [index, item] of items.entries()) numbers[index] = numberOf(item);
  return numbers;
}

export function unpackChanges(packed: PackedChanges): WriterChange[] {
  const changes = unpackRecords(packed);
  for (const [index, files] of packed.files) {
    const change = changes[index];
    if (change !== undefined) changes[index] = { ...change, files };
  }
  return changes;
}

function unpackRecords({ ids, records, lengths, units, checksums, expects }: PackedChanges): WriterChange[] {
  let at = 0;
  return ids.map((id, index) => {
    const length = lengths[index] ?? DELETED;
    const record = length === DELETED ? null : records.subarray(at, at + length);
    at += record?.length ?? 0;
    const checksum = checksums[index] ?? 0;
    const expect = expects[index] ?? NOT_EXPECTED;
    const recordUnits = units[index] ?? 0;
    // Two literals, because spreading one into the other takes longer than all the rest.
    return expect === NOT_EXPECTED
      ? { id, record, units: recordUnits, checksum }
      : { id, record, units: recordUnits, checksum, expect };
  });
}

/** Encodes the records of changes that were not packed. */
export function encodeChanges(changes: readonly Change[]): WriterChange[] {
  return changes.map((change) => {
    const { record } = change;
    return { ...change, record: record === null ? null : Buffer.from(record), units: record?.length ?? 0 };
  });
}

/** The objects that a commit leaves unchanged, in columns. */
interface PackedUnchanged {
  readonly ids: readonly string[];
  readonly expects: Float64Array;
}

export function packUnchanged(kept: readonly UnchangedObject[]): PackedUnchanged {
  return { ids: kept.map(({ id }) => id), expects: numbersOf(kept, ({ expect }) => expect) };
}

export function unpackUnchanged({ ids, expects }: PackedUnchanged): UnchangedObject[] {
  return ids.map((id, index) => ({ id, expect: expects[index] ?? 0 }));
}
