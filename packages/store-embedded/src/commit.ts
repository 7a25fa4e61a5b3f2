import {
  addCommitTime,
  type CommitResult,
  keptBytes,
  type PartitionKey,
  type PartitionState,
  type UnchangedObject,
} from '@tidemark/core/ports';
import { addChecksums, subtractChecksums } from '@tidemark/protocol';
import { numberedChange } from './changes.ts';
import { changeFiles } from './file-index.ts';
import { missingGuard } from './guards.ts';
import { RecordAppender, RecordFinder, removeRecords } from './live-records.ts';
import { newId, nextNumber } from './meta.ts';
import { applyNotes, planNotes, requireSoundNotes } from './notes.ts';
import { encodeIndexEntry, type IndexEntry, readIndexEntry } from './object-index.ts';
import { type PartitionRow, readPartition, stateOf, writePartition } from './partitions.ts';
import { changeRetainedBytes, readRetainedBytes } from './retained-bytes.ts';
import type { Tables } from './tables.ts';
import type { WriterChange, WriterCommit } from './tasks.ts';

// All of this runs in the writer's transaction.

/** A change with what the index holds of its object, or null when the partition does not know the object. */
interface IndexedChange {
  readonly change: WriterChange;
  readonly before: IndexEntry | null;
}

export function applyCommit(tables: Tables, commit: WriterCommit): CommitResult {
  requireSound(commit.changes);
  const { notes } = commit;
  if (notes !== undefined) requireSoundNotes(notes);
  const guard = missingGuard(tables, commit.guards);
  if (guard !== null) return { status: 'gone', guard };
  const partition = readPartition(tables, commit.partition);
  if (commit.expectHead !== undefined && commit.expectHead !== (partition?.head ?? 0)) return { status: 'conflict' };
  const changes = expectedChanges(tables, partition, commit);
  if (changes === null) return { status: 'conflict' };
  const notesPlan = notes === undefined ? undefined : planNotes(tables, commit.partition, notes);
  if (notesPlan === null) return { status: 'conflict' };
  const effective = changes.filter(({ change, before }) => change.record !== null || before?.isLive === true);
  const retainedGrowth = tombstonesGrowth(effective) + (notesPlan?.growth ?? 0);
  if (isTooLarge(tables, partition, commit, { effective, added: notesPlan?.added ?? 0, retainedGrowth })) {
    return { status: 'too_large' };
  }
  if (notes !== undefined && notesPlan !== undefined) applyNotes(tables, commit.partition, notes, notesPlan);
  changeRetainedBytes(tables, commit.partition, retainedGrowth);
  if (effective.length === 0) return { status: 'committed', state: stateOf(tables, partition) };
  const before = timed(partition ?? newPartition(tables), commit.atMs);
  const next = applyChanges(tables, before, effective);
  writePartition(tables, commit.partition, numberedChange(tables, commit.partition, next));
  return { status: 'committed', state: stateOf(tables, next) };
}

/** Throws when the caller has a bug that would leave the journal unsound. */
function requireSound(changes: readonly WriterChange[]): void {
  const ids = new Set<string>();
  for (const { id, record, checksum, files } of changes) {
    ids.add(id);
    if (record === null && files !== undefined) throw new Error('a deletion has no files');
    if (record === null && checksum !== 0) throw new Error('the checksum of a deletion must be 0');
  }
  if (ids.size !== changes.length) throw new Error('a commit changes the same object twice');
}

/** Looks up every object before anything is written. Returns null when one has another seq than the commit expects. */
function expectedChanges(
  tables: Tables,
  partition: PartitionRow | null,
  { changes, kept: unchanged = [], seen }: WriterCommit,
): readonly IndexedChange[] | null {
  const state = stateOf(tables, partition);
  if (seen !== undefined && seen.epoch !== state.epoch) return null;
  const isAsSeen = seen?.head === state.head;
  const indexed: IndexedChange[] = [];
  for (const change of changes) {
    const { id, expect } = change;
    const isKnownToBeAbsent = partition === null || (isAsSeen && expect === 0);
    const before = isKnownToBeAbsent ? null : readIndexEntry(tables, partition.number, id);
    if (expect !== undefined && expect !== (before?.seq ?? 0)) return null;
    indexed.push({ change, before });
  }
  return isAsSeen || unchanged.every((object) => isExpected(tables, partition, object)) ? indexed : null;
}

function isExpected(tables: Tables, partition: PartitionRow | null, { id, expect }: UnchangedObject): boolean {
  const entry = partition === null ? null : readIndexEntry(tables, partition.number, id);
  return expect === (entry?.seq ?? 0);
}

/** What a commit does to the bytes that the quota counts, besides the records that it replaces. */
interface Effect {
  readonly effective: readonly IndexedChange[];
  /** The bytes of the notes that are written. */
  readonly added: number;
  readonly retainedGrowth: number;
}

/** By how many bytes the tombstones grow. */
function tombstonesGrowth(effective: readonly IndexedChange[]): number {
  let growth = 0;
  for (const { change, before } of effective) {
    if (change.record === null) growth += keptBytes(change.id);
    else if (before?.isLive === false) growth -= keptBytes(change.id);
  }
  return growth;
}

/** True: the commit writes something, makes the partition larger, and larger than `bytesMax`. */
function isTooLarge(
  tables: Tables,
  partition: PartitionRow | null,
  { bytesMax, partition: key }: WriterCommit,
  { effective, added: notesAdded, retainedGrowth }: Effect,
): boolean {
  if (bytesMax === undefined) return false;
  let added = 0;
  for (const { change } of effective) added += change.record?.length ?? 0;
  if (added + notesAdded === 0) return false;
  const after = (partition?.bytes ?? 0) + readRetainedBytes(tables, key) + added + retainedGrowth;
  if (after <= bytesMax) return false;
  // Only now the removed bytes matter: most commits are far from any bound.
  const removed = partition === null ? 0 : replacedBytes(tables, partition.number, effective);
  return added + retainedGrowth > removed && after - removed > bytesMax;
}

function replacedBytes(tables: Tables, partition: number, changes: readonly IndexedChange[]): number {
  const finder = new RecordFinder(tables, partition);
  let bytes = 0;
  for (const { before } of changes) {
    if (before?.isLive === true) bytes += Buffer.byteLength(finder.at(before.seq) ?? '');
  }
  return bytes;
}

/** Writes changes, each of which has an effect, and returns the partition after them. */
function applyChanges(tables: Tables, partition: PartitionRow, changes: readonly IndexedChange[]): PartitionRow {
  let { head, size, checksum, tombstones, bytes } = partition;
  bytes -= removeOldEntries(tables, partition.number, changes);
  const records = new RecordAppender(tables, partition.number, head);
  for (const { change, before } of changes) {
    const wasLive = before?.isLive === true;
    const isLive = change.record !== null;
    const seq = ++head;
    if (change.record === null) tables.tombstones.put([partition.number, seq], change.id);
    else records.add({ seq, bytes: change.record, units: change.units });
    tables.index.put([partition.number, change.id], encodeIndexEntry({ seq, isLive, checksum: change.checksum }));
    bytes += change.record?.length ?? 0;
    size += (isLive ? 1 : 0) - (wasLive ? 1 : 0);
    tombstones += (isLive ? 0 : 1) - (before?.isLive === false ? 1 : 0);
    checksum = addChecksums(subtractChecksums(checksum, wasLive ? before.checksum : 0), change.checksum);
  }
  records.flush();
  return { ...partition, head, size, checksum, tombstones, bytes, ...filesAfter(tables, partition, changes) };
}

/** Most partitions have no files, and most commits bring none: those pay for one look at each change. */
function filesAfter(
  tables: Tables,
  { number, files }: PartitionRow,
  changes: readonly IndexedChange[],
): Pick<PartitionRow, 'files'> {
  if (files === undefined && !changes.some(({ change }) => change.files !== undefined)) return {};
  const changed = changes.map(({ change }) => change);
  return { files: changeFiles(tables, number, files ?? 0, changed) };
}

/** Notes the time of the changes that follow the head. */
function timed(partition: PartitionRow, atMs: number | undefined): PartitionRow {
  if (atMs === undefined) return partition;
  return { ...partition, times: addCommitTime(partition.times ?? '', partition.head + 1, atMs) };
}

function newPartition(tables: Tables): PartitionRow {
  const number = nextNumber(tables, 'partition');
  return { number, epochSuffix: newId(), head: 0, floor: 0, size: 0, checksum: 0, tombstones: 0, bytes: 0 };
}

/** Removes the old journal entries of changed objects, before new ones are added. Returns the bytes of the records removed. */
function removeOldEntries(tables: Tables, partition: number, changes: readonly IndexedChange[]): number {
  const liveSeqs: number[] = [];
  for (const { before } of changes) {
    if (before === null) continue;
    if (before.isLive) liveSeqs.push(before.seq);
    else tables.tombstones.remove([partition, before.seq]);
  }
  return removeRecords(tables, partition, liveSeqs);
}

export function applyTrim(tables: Tables, key: PartitionKey, upTo: number, tombstonesMax: number): PartitionState {
  const partition = readPartition(tables, key);
  if (partition === null) return stateOf(tables, null);
  const target = Math.min(upTo, partition.head);
  if (target <= partition.floor) return stateOf(tables, partition);
  const { number } = partition;
  const range = { start: [number, 0] as [number, number], end: [number, target + 1] as [number, number] };
  const due = [...tables.tombstones.getRange({ ...range, limit: tombstonesMax })];
  let bytes = 0;
  for (const { key: tombstone, value: id } of due) {
    tables.tombstones.remove(tombstone);
    tables.index.remove([number, id]);
    bytes += keptBytes(id);
  }
  changeRetainedBytes(tables, key, -bytes);
  const floor = due.length < tombstonesMax ? target : (due.at(-1)?.key[1] ?? target);
  const next = { ...partition, floor, tombstones: partition.tombstones - due.length };
  writePartition(tables, key, next);
  return stateOf(tables, next);
}
