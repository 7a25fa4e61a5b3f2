import { randomBytes } from 'node:crypto';
import type { Commit, CommitResult, Kept, PartitionKey, PartitionState } from '@tidemark/core/ports';
import { addChecksums, subtractChecksums } from '@tidemark/protocol';
import { nextNumber } from './facts.ts';
import { missingGuard } from './guards.ts';
import type { Place } from './keys.ts';
import { LiveWriter, liveRecords, RecordFinder, removeRecords } from './live-records.ts';
import { applyNotes, areNotesExpected, requireSoundNotes } from './notes.ts';
import type { WrittenChange } from './packed-changes.ts';
import { type KeptPartition, keptPartition, partitionName, stateOf } from './partitions.ts';
import { type Standing, standingBytes, standingOf } from './standings.ts';
import type { Tables } from './tables.ts';

// All of this runs in the writer's transaction.

/** A commit as it arrives at the writer. */
export type WrittenCommit = Omit<Commit, 'changes'> & { readonly changes: readonly WrittenChange[] };

export function applyCommit(tables: Tables, commit: WrittenCommit): CommitResult {
  requireSound(commit.changes);
  const { notes } = commit;
  if (notes !== undefined) requireSoundNotes(notes);
  const guard = missingGuard(tables, commit.guards);
  if (guard !== null) return { status: 'gone', guard };
  const kept = keptPartition(tables, commit.partition);
  if (commit.expectHead !== undefined && commit.expectHead !== (kept?.head ?? 0)) return { status: 'conflict' };
  const standings = expectedStandings(tables, kept, commit);
  if (standings === null) return { status: 'conflict' };
  if (notes !== undefined && !areNotesExpected(tables, commit.partition, notes)) return { status: 'conflict' };
  if (isTooLarge(tables, kept, commit, standings)) return { status: 'too_large' };
  if (notes !== undefined) applyNotes(tables, commit.partition, notes);
  const next = applyChanges(tables, kept, commit.changes, standings);
  if (next === null) return { status: 'committed', state: stateOf(tables, kept) };
  tables.partitions.put(partitionName(commit.partition), JSON.stringify(next));
  return { status: 'committed', state: stateOf(tables, next) };
}

/** These would be bugs of the caller, and would leave the journal unsound. */
function requireSound(changes: readonly WrittenChange[]): void {
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
  { changes, kept: leftAlone = [], seen }: WrittenCommit,
): readonly (Standing | null)[] | null {
  const state = stateOf(tables, kept);
  if (seen !== undefined && seen.epoch !== state.epoch) return null;
  const isAsSeen = seen?.head === state.head;
  const standings: (Standing | null)[] = [];
  for (const { id, expect } of changes) {
    const isKnownToBeAbsent = kept === null || (isAsSeen && expect === 0);
    const standing = isKnownToBeAbsent ? null : standingOf(tables, kept.number, id);
    if (expect !== undefined && expect !== (standing?.seq ?? 0)) return null;
    standings.push(standing);
  }
  return isAsSeen || leftAlone.every((object) => standsAsExpected(tables, kept, object)) ? standings : null;
}

function standsAsExpected(tables: Tables, kept: KeptPartition | null, { id, expect }: Kept): boolean {
  const standing = kept === null ? null : standingOf(tables, kept.number, id);
  return expect === (standing?.seq ?? 0);
}

/** Whether the changes make the partition larger, and larger than it may be. */
function isTooLarge(
  tables: Tables,
  kept: KeptPartition | null,
  { changes, bytesMax }: WrittenCommit,
  standings: readonly (Standing | null)[],
): boolean {
  if (bytesMax === undefined) return false;
  let added = 0;
  for (const { record } of changes) added += record?.length ?? 0;
  const before = kept === null ? 0 : bytesOf(tables, kept);
  if (added === 0 || before + added <= bytesMax) return false;
  // Only now it matters what goes: most commits are far from any bound.
  const seqs = standings.flatMap((standing) => (standing?.isLive === true ? [standing.seq] : []));
  const removed = kept === null ? 0 : recordBytes(tables, kept.number, seqs);
  return added > removed && before + added - removed > bytesMax;
}

/** The bytes of the records of a partition, counted if nobody has. */
function bytesOf(tables: Tables, { number, bytes }: KeptPartition): number {
  if (bytes !== undefined) return bytes;
  let counted = 0;
  const range = { start: [number, 0] as Place, end: [number + 1, 0] as Place };
  for (const { record } of liveRecords(tables, range)) counted += Buffer.byteLength(record);
  return counted;
}

function recordBytes(tables: Tables, partition: number, seqs: readonly number[]): number {
  const finder = new RecordFinder(tables, partition);
  let bytes = 0;
  for (const seq of seqs) bytes += Buffer.byteLength(finder.at(seq) ?? '');
  return bytes;
}

/** The partition after the changes; null when they change nothing. */
function applyChanges(
  tables: Tables,
  kept: KeptPartition | null,
  changes: readonly WrittenChange[],
  standings: readonly (Standing | null)[],
): KeptPartition | null {
  const effective = changes.filter((change, index) => change.record !== null || standings[index]?.isLive === true);
  if (effective.length === 0) return null;
  const partition = kept ?? newPartition(tables);
  let { head, size, checksum, tombstones } = partition;
  let bytes = bytesOf(tables, partition) - removeFromJournal(tables, partition.number, changes, standings);
  const live = new LiveWriter(tables, partition.number, head);
  for (const [index, change] of changes.entries()) {
    const standing = standings[index] ?? null;
    if (change.record === null && standing?.isLive !== true) continue;
    head++;
    bytes += change.record?.length ?? 0;
    addToJournal(tables, live, [partition.number, head], change);
    size += (change.record === null ? 0 : 1) - (standing?.isLive === true ? 1 : 0);
    tombstones += (change.record === null ? 1 : 0) - (standing?.isLive === false ? 1 : 0);
    checksum = addChecksums(
      subtractChecksums(checksum, standing?.isLive === true ? standing.checksum : 0),
      change.checksum,
    );
  }
  live.flush();
  return { ...partition, head, size, checksum, tombstones, bytes };
}

function newPartition(tables: Tables): KeptPartition {
  const word = randomBytes(8).toString('base64url');
  return {
    number: nextNumber(tables, 'partition'),
    word,
    head: 0,
    floor: 0,
    size: 0,
    checksum: 0,
    tombstones: 0,
    bytes: 0,
  };
}

/** Before anything is added: what is added may stand where something was. Answers the bytes of the records that went. */
function removeFromJournal(
  tables: Tables,
  partition: number,
  changes: readonly WrittenChange[],
  standings: readonly (Standing | null)[],
): number {
  const live: number[] = [];
  for (const [index, standing] of standings.entries()) {
    if (standing === null) continue;
    if (standing.isLive) live.push(standing.seq);
    else if (changes[index]?.record !== null) tables.tombstones.remove([partition, standing.seq]);
  }
  return removeRecords(tables, partition, live);
}

function addToJournal(
  tables: Tables,
  live: LiveWriter,
  [partition, seq]: Place,
  { id, record, units, checksum }: WrittenChange,
): void {
  if (record === null) tables.tombstones.put([partition, seq], id);
  else live.add({ seq, bytes: record, units });
  const isLive = record !== null;
  tables.index.put([partition, id], standingBytes({ seq, isLive, checksum: isLive ? checksum : 0 }));
}

export function applyTrim(tables: Tables, key: PartitionKey, upTo: number, gravesMax: number): PartitionState {
  const kept = keptPartition(tables, key);
  if (kept === null) return stateOf(tables, kept);
  const target = Math.min(upTo, kept.head);
  if (target <= kept.floor) return stateOf(tables, kept);
  const { number: partition } = kept;
  const due = [
    ...tables.tombstones.getRange({
      start: [partition, 0],
      end: [partition, target + 1],
      limit: gravesMax,
    }),
  ];
  for (const { key: place, value: id } of due) {
    tables.tombstones.remove(place);
    tables.index.remove([partition, id]);
  }
  const floor = due.length < gravesMax ? target : (due.at(-1)?.key[1] ?? target);
  const next = { ...kept, floor, tombstones: kept.tombstones - due.length };
  tables.partitions.put(partitionName(key), JSON.stringify(next));
  return stateOf(tables, next);
}
