import { randomBytes } from 'node:crypto';
import type {
  Change,
  Commit,
  CommitResult,
  JournalRange,
  JournalSlice,
  ObjectsRead,
  PartitionKey,
  PartitionState,
  StoredObject,
} from '@tidemark/core';
import { addChecksums, subtractChecksums } from '@tidemark/protocol';
import { missingGuard } from './entries.ts';
import { nextNumber, storeEpoch } from './facts.ts';
import { keyOf, type Place, placesAfter, readNumber, textsOf, writeNumber } from './keys.ts';
import { removeRange } from './ranges.ts';
import type { Tables } from './tables.ts';
import { removeTidemarksOn } from './tidemarks.ts';

/** A partition as it is kept. `number` stands for its name in all other keys. */
export interface KeptPartition {
  readonly number: number;
  readonly word: string;
  readonly head: number;
  readonly floor: number;
  readonly size: number;
  readonly checksum: number;
  readonly graves: number;
}

/** Where an object stands. */
export interface Standing {
  readonly seq: number;
  readonly isLive: boolean;
  readonly checksum: number;
}

const LIVE = 1;
const DEAD = 0;
const STANDING_BYTES = 14;

// Names

/** Users' partitions stand together, so that a user can be erased without looking at others. */
export function partitionName({ source, user }: PartitionKey): Buffer {
  return user === null ? keyOf('shared', source) : keyOf('user', user, source);
}

export function partitionKeyOf(name: Uint8Array): PartitionKey {
  const [kind, first = '', second = ''] = textsOf(name);
  return kind === 'shared' ? { source: first, user: null } : { source: second, user: first };
}

export function keptPartition(tables: Tables, key: PartitionKey): KeptPartition | null {
  const text = tables.partitions.get(partitionName(key));
  return text === undefined ? null : (JSON.parse(text) as KeptPartition);
}

export function stateOf(tables: Tables, kept: KeptPartition | null): PartitionState {
  const epoch = storeEpoch(tables);
  if (kept === null) return { epoch, head: 0, floor: 0, size: 0, checksum: 0 };
  const { head, floor, size, checksum } = kept;
  return { epoch: epoch + kept.word, head, floor, size, checksum };
}

// Reading

export function readObjects(tables: Tables, key: PartitionKey, ids: readonly string[]): ObjectsRead {
  const kept = keptPartition(tables, key);
  const objects = new Map<string, StoredObject>();
  if (kept !== null) {
    for (const id of ids) {
      const standing = standingOf(tables, kept.number, id);
      if (standing !== null) objects.set(id, { seq: standing.seq, record: recordAt(tables, kept.number, standing) });
    }
  }
  return { state: stateOf(tables, kept), objects };
}

function recordAt(tables: Tables, partition: number, { seq, isLive }: Standing): string | null {
  if (!isLive) return null;
  const record = tables.live.get([partition, seq]);
  if (record === undefined) throw new Error(`the record at seq ${seq} is missing; run verify`);
  return record;
}

export function standingOf(tables: Tables, partition: number, id: string): Standing | null {
  const bytes = tables.index.get(keyOf(partition, id));
  return bytes === undefined ? null : readStanding(bytes);
}

export function readStanding(bytes: Uint8Array): Standing {
  // The checksum has 52 bits: one byte and a number.
  return {
    seq: readNumber(bytes, 0),
    isLive: bytes[6] === LIVE,
    checksum: (bytes[7] ?? 0) * 2 ** 48 + readNumber(bytes, 8),
  };
}

function standingBytes({ seq, isLive, checksum }: Standing): Buffer {
  const bytes = Buffer.allocUnsafe(STANDING_BYTES);
  writeNumber(bytes, 0, seq);
  bytes[6] = isLive ? LIVE : DEAD;
  bytes[7] = Math.floor(checksum / 2 ** 48);
  writeNumber(bytes, 8, checksum % 2 ** 48);
  return bytes;
}

/** Live records and tombstones lie in two ranges; a slice merges them by seq until a bound is met. */
export function readJournal(tables: Tables, key: PartitionKey, range: JournalRange): JournalSlice {
  if (range.entriesMax < 1) throw new Error('a slice has room for one entry at least');
  const kept = keptPartition(tables, key);
  const state = stateOf(tables, kept);
  const slice = { state, records: [] as string[], seqs: [] as number[], graves: [] as string[], upTo: state.head };
  if (kept === null || range.after >= kept.head) return slice;
  const graves = graveCursor(tables, kept, Math.max(range.after, range.gravesAfter));
  let units = 0;
  let entries = 0;
  let upTo = range.after;
  let grave = graves.next();
  const isFull = (text: string) => entries > 0 && (entries >= range.entriesMax || units + text.length > range.unitsMax);
  const buryBefore = (seq: number): boolean => {
    for (; !grave.done && grave.value.key[1] < seq; grave = graves.next()) {
      if (isFull(grave.value.value)) return false;
      slice.graves.push(grave.value.value);
      upTo = grave.value.key[1];
      units += grave.value.value.length;
      entries++;
    }
    return true;
  };
  const { number: partition } = kept;
  const live = tables.live.getRange(placesAfter(partition, range.after));
  for (const {
    key: [, seq],
    value,
  } of live) {
    if (!buryBefore(seq) || isFull(value)) return finish(slice, upTo, graves);
    slice.records.push(value);
    slice.seqs.push(seq);
    upTo = seq;
    units += value.length;
    entries++;
  }
  return buryBefore(Number.MAX_SAFE_INTEGER) ? slice : finish(slice, upTo, graves);
}

function finish(slice: JournalSlice, upTo: number, graves: Iterator<unknown>): JournalSlice {
  graves.return?.();
  return { ...slice, upTo };
}

type GraveCursor = Iterator<{ readonly key: Place; readonly value: string }, unknown>;

const NO_GRAVES: GraveCursor = { next: () => ({ done: true, value: undefined }) };

function graveCursor(tables: Tables, { number: partition, graves, head }: KeptPartition, after: number): GraveCursor {
  if (graves === 0 || after >= head) return NO_GRAVES;
  const range = tables.graves.getRange(placesAfter(partition, after));
  return range[Symbol.iterator]() as GraveCursor;
}

export function listPartitions(
  tables: Tables,
  after: PartitionKey | undefined,
  limit: number,
): readonly PartitionKey[] {
  const start = after === undefined ? undefined : partitionName(after);
  const keys = tables.partitions.getKeys({ ...(start === undefined ? {} : { start, exclusiveStart: true }), limit });
  return [...keys].map(partitionKeyOf);
}

// Writing: these run in the writer's transaction

export function applyCommit(tables: Tables, commit: Commit): CommitResult {
  requireSound(commit.changes);
  const guard = missingGuard(tables, commit.guards);
  if (guard !== null) return { status: 'gone', guard };
  const kept = keptPartition(tables, commit.partition);
  if (commit.expectHead !== undefined && commit.expectHead !== (kept?.head ?? 0)) return { status: 'conflict' };
  const standings = expectedStandings(tables, kept, commit.changes);
  if (standings === null) return { status: 'conflict' };
  const next = applyChanges(tables, kept, commit.changes, standings);
  if (next === null) return { status: 'committed', state: stateOf(tables, kept) };
  tables.partitions.putSync(partitionName(commit.partition), JSON.stringify(next));
  return { status: 'committed', state: stateOf(tables, next) };
}

/** These would be bugs of the caller, and would leave the journal unsound. */
function requireSound(changes: readonly Change[]): void {
  const ids = new Set<string>();
  for (const { id, record, checksum } of changes) {
    ids.add(id);
    if (record === null && checksum !== 0) throw new Error('a deletion has no checksum');
  }
  if (ids.size !== changes.length) throw new Error('an id stands twice in a commit');
}

/** Where each object stands, or null when one is not where it is expected: looked at before anything is written. */
function expectedStandings(
  tables: Tables,
  kept: KeptPartition | null,
  changes: readonly Change[],
): readonly (Standing | null)[] | null {
  const standings: (Standing | null)[] = [];
  for (const { id, expect } of changes) {
    const standing = kept === null ? null : standingOf(tables, kept.number, id);
    if (expect !== undefined && expect !== (standing?.seq ?? 0)) return null;
    standings.push(standing);
  }
  return standings;
}

/** The partition after the changes; null when they change nothing. */
function applyChanges(
  tables: Tables,
  kept: KeptPartition | null,
  changes: readonly Change[],
  standings: readonly (Standing | null)[],
): KeptPartition | null {
  const effective = changes.filter((change, index) => change.record !== null || standings[index]?.isLive === true);
  if (effective.length === 0) return null;
  const partition = kept ?? newPartition(tables);
  let { head, size, checksum, graves } = partition;
  for (const [index, change] of changes.entries()) {
    const standing = standings[index] ?? null;
    if (change.record === null && standing?.isLive !== true) continue;
    head++;
    removeFromJournal(tables, partition.number, standing);
    addToJournal(tables, [partition.number, head], change);
    size += (change.record === null ? 0 : 1) - (standing?.isLive === true ? 1 : 0);
    graves += (change.record === null ? 1 : 0) - (standing?.isLive === false ? 1 : 0);
    checksum = addChecksums(
      subtractChecksums(checksum, standing?.isLive === true ? standing.checksum : 0),
      change.checksum,
    );
  }
  return { ...partition, head, size, checksum, graves };
}

function newPartition(tables: Tables): KeptPartition {
  const word = randomBytes(8).toString('base64url');
  return { number: nextNumber(tables, 'partition'), word, head: 0, floor: 0, size: 0, checksum: 0, graves: 0 };
}

function removeFromJournal(tables: Tables, partition: number, standing: Standing | null): void {
  if (standing === null) return;
  const table = standing.isLive ? tables.live : tables.graves;
  table.removeSync([partition, standing.seq]);
}

function addToJournal(tables: Tables, place: Place, { id, record, checksum }: Change): void {
  if (record === null) tables.graves.putSync(place, id);
  else tables.live.putSync(place, record);
  const isLive = record !== null;
  tables.index.putSync(keyOf(place[0], id), standingBytes({ seq: place[1], isLive, checksum: isLive ? checksum : 0 }));
}

export function applyTrim(tables: Tables, key: PartitionKey, upTo: number, gravesMax: number): PartitionState {
  const kept = keptPartition(tables, key);
  if (kept === null) return stateOf(tables, kept);
  const target = Math.min(upTo, kept.head);
  if (target <= kept.floor) return stateOf(tables, kept);
  const { number: partition } = kept;
  const due = [
    ...tables.graves.getRange({
      start: [partition, 0],
      end: [partition, target + 1],
      limit: gravesMax,
    }),
  ];
  for (const { key: place, value: id } of due) {
    tables.graves.removeSync(place);
    tables.index.removeSync(keyOf(partition, id));
  }
  const floor = due.length < gravesMax ? target : (due.at(-1)?.key[1] ?? target);
  const next = { ...kept, floor, graves: kept.graves - due.length };
  tables.partitions.putSync(partitionName(key), JSON.stringify(next));
  return stateOf(tables, next);
}

export function removePartition(tables: Tables, name: Buffer): void {
  const text = tables.partitions.get(name);
  if (text === undefined) return;
  const { number: partition } = JSON.parse(text) as KeptPartition;
  removeRange(tables.live, [partition, 0], [partition + 1, 0]);
  removeRange(tables.graves, [partition, 0], [partition + 1, 0]);
  removeRange(tables.index, keyOf(partition), keyOf(partition + 1));
  removeTidemarksOn(tables, partition);
  tables.partitions.removeSync(name);
}
