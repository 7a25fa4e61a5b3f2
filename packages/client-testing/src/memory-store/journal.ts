import type { JournalRange, JournalSlice, PartitionState, RecordCount, SeqRange } from '@tidemark/core';
import type { JournalEntry, MemoryPartition } from './memory-data.ts';

export function sliceJournal(partition: MemoryPartition, range: JournalRange): JournalSlice {
  if (!(range.entriesMax >= 1)) throw new Error('a slice must have room for one entry');
  const records: string[] = [];
  const seqs: number[] = [];
  const tombstones: string[] = [];
  let upTo = range.after;
  let units = 0;
  for (const [seq, { id, record }] of standingIn(partition, range)) {
    const given = records.length + tombstones.length;
    units += record === null ? id.length : record.length;
    if (given === range.entriesMax || (given > 0 && units > range.unitsMax)) {
      return { state: stateOf(partition), records, seqs, tombstones, upTo };
    }
    if (record === null) {
      tombstones.push(id);
    } else {
      records.push(record);
      seqs.push(seq);
    }
    upTo = seq;
  }
  return { state: stateOf(partition), records, seqs, tombstones, upTo: partition.head };
}

export function countRecords(partition: MemoryPartition, { after, upTo }: SeqRange): RecordCount {
  let count = 0;
  for (const [seq, { record }] of partition.journal) if (record !== null && seq > after && seq <= upTo) count++;
  return { state: stateOf(partition), count };
}

function* standingIn(partition: MemoryPartition, range: JournalRange): Iterable<[number, JournalEntry]> {
  const tombstonesAfter = Math.max(range.after, range.tombstonesAfter);
  for (const [seq, entry] of partition.journal) {
    if (seq > (entry.record === null ? tombstonesAfter : range.after)) yield [seq, entry];
  }
}

/** Removes at most `tombstonesMax` tombstones up to `upTo`; the floor rises to just below the first one left. */
export function trimGraves(partition: MemoryPartition, upTo: number, tombstonesMax: number): void {
  const goal = Math.min(upTo, partition.head);
  let reached = goal;
  let forgotten = 0;
  for (const [seq, { id, record }] of partition.journal) {
    if (seq > goal) break;
    if (record !== null) continue;
    if (forgotten === tombstonesMax) {
      reached = seq - 1;
      break;
    }
    partition.journal.delete(seq);
    partition.index.delete(id);
    forgotten += 1;
  }
  partition.floor = Math.max(partition.floor, reached);
}

export function stateOf({ epoch, earlier, head, floor, size, checksum }: MemoryPartition): PartitionState {
  const state = { epoch, head, floor, size, checksum };
  return earlier === undefined ? state : { ...state, earlier };
}
