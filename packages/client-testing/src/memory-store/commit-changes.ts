import { addCommitTime, type Change, type Commit, type CommitResult, keptBytes } from '@tidemark/core';
import { addChecksums, subtractChecksums } from '@tidemark/protocol';
import { missingGuard } from './entries.ts';
import { stateOf } from './journal.ts';
import {
  type JournalEntry,
  type MemoryData,
  type MemoryPartition,
  mapKeyOf,
  newPartition,
  partitionOf,
} from './memory-data.ts';
import { applyNotes, areNotesExpected, assertSoundNotes, bytesOfNotes, growthOfNotes } from './notes.ts';

/** Checks everything before it applies anything. */
export function commitChanges(data: MemoryData, commit: Commit, newWord: () => string): CommitResult {
  assertAdmitted(commit.changes);
  if (commit.notes !== undefined) assertSoundNotes(commit.notes);
  const guard = missingGuard(data, commit.guards);
  if (guard !== null) return { status: 'gone', guard };
  const before = partitionOf(data, commit.partition);
  if (conflicts(before, commit)) return { status: 'conflict' };
  const { notes } = commit;
  if (notes !== undefined && !areNotesExpected(data, commit.partition, notes)) return { status: 'conflict' };
  if (isTooLarge(data, before, commit)) return { status: 'too_large' };
  if (notes !== undefined) applyNotes(data, commit.partition, notes);
  const changes = commit.changes.filter((change) => takesSeq(before, change));
  if (changes.length === 0) return { status: 'committed', state: stateOf(before) };
  const partition = writablePartition(data, commit, newWord);
  if (commit.atMs !== undefined) partition.times = addCommitTime(partition.times, partition.head + 1, commit.atMs);
  for (const change of changes) applyChange(partition, change);
  if (commit.partition.owner.kind === 'group') partition.changed = ++data.lastChange;
  return { status: 'committed', state: stateOf(partition) };
}

function assertAdmitted(changes: readonly Change[]): void {
  const ids = new Set(changes.map(({ id }) => id));
  if (ids.size !== changes.length) throw new Error('an id stands twice in a commit');
  const odd = changes.find(({ record, checksum }) => record === null && checksum !== 0);
  if (odd !== undefined) throw new Error('a deletion has a checksum');
  const deletion = changes.find(({ record, files }) => record === null && files !== undefined);
  if (deletion !== undefined) throw new Error('a deletion has files');
}

function conflicts(partition: MemoryPartition, commit: Commit): boolean {
  if (commit.expectHead !== undefined && commit.expectHead !== partition.head) return true;
  if (commit.seen !== undefined && commit.seen.epoch !== partition.epoch) return true;
  return [...commit.changes, ...(commit.kept ?? [])].some(({ id, expect }) => {
    return expect !== undefined && expect !== (partition.index.get(id)?.seq ?? 0);
  });
}

/** Deletions alone are never too large: they make room. */
function isTooLarge(data: MemoryData, before: MemoryPartition, commit: Commit): boolean {
  const { changes, notes, bytesMax = Number.POSITIVE_INFINITY } = commit;
  const adds =
    changes.some(({ record }) => record !== null) || notes?.writes.some(({ text }) => text !== null) === true;
  if (!adds || bytesMax === Number.POSITIVE_INFINITY) return false;
  let growth = notes === undefined ? 0 : growthOfNotes(data, commit.partition, notes);
  for (const change of changes) {
    if (takesSeq(before, change)) growth += entryBytes(change) - entryBytes(entryOf(before, change.id));
  }
  return growth > 0 && bytesOf(data, before) + growth > bytesMax;
}

/** The bytes of the live records, and those of tombstones and notes. */
export function bytesOf(data: MemoryData, { key, journal }: MemoryPartition): number {
  let bytes = bytesOfNotes(data, key);
  for (const entry of journal.values()) bytes += entryBytes(entry);
  return bytes;
}

function entryOf({ journal, index }: MemoryPartition, id: string): JournalEntry | undefined {
  return journal.get(index.get(id)?.seq ?? 0);
}

function entryBytes(entry: JournalEntry | undefined): number {
  if (entry === undefined) return 0;
  return entry.record === null ? keptBytes(entry.id) : Buffer.byteLength(entry.record);
}

function takesSeq(partition: MemoryPartition, change: Change): boolean {
  return change.record !== null || partition.index.get(change.id)?.live === true;
}

/** The first seq creates a partition, with an epoch of its own. */
function writablePartition(data: MemoryData, commit: Commit, newWord: () => string): MemoryPartition {
  const mapKey = mapKeyOf(commit.partition);
  const known = data.partitions.get(mapKey);
  if (known !== undefined) return known;
  const partition = newPartition(commit.partition, data.epoch + newWord());
  data.partitions.set(mapKey, partition);
  return partition;
}

function applyChange(partition: MemoryPartition, { id, record, checksum, files = [] }: Change): void {
  const old = partition.index.get(id);
  if (old !== undefined) partition.journal.delete(old.seq);
  if (old?.live === true) {
    partition.size -= 1;
    partition.checksum = subtractChecksums(partition.checksum, old.checksum);
  }
  if (files.length > 0) partition.files.set(id, [...files]);
  else partition.files.delete(id);
  partition.head += 1;
  partition.index.set(id, { seq: partition.head, live: record !== null, checksum });
  partition.journal.set(partition.head, { id, record });
  if (record !== null) {
    partition.size += 1;
    partition.checksum = addChecksums(partition.checksum, checksum);
  }
}
