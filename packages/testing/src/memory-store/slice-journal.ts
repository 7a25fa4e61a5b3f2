import type { JournalRange, JournalSlice } from '@tidemark/core';
import type { JournalEntry, MemoryPartition } from './memory-life.ts';
import { stateOf } from './state-of.ts';

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

function* standingIn(partition: MemoryPartition, range: JournalRange): Iterable<[number, JournalEntry]> {
  const tombstonesAfter = Math.max(range.after, range.tombstonesAfter);
  for (const [seq, entry] of partition.journal) {
    if (seq > (entry.record === null ? tombstonesAfter : range.after)) yield [seq, entry];
  }
}
