import type { Finding, RecordReader } from '@tidemark/core';
import { addChecksums } from '@tidemark/protocol';
import type { JournalEntry, MemoryPartition } from './memory-data.ts';

type Problem = Finding['problem'];
type Report = (problem: Problem, detail: string) => void;

/** Reads every record and compares the result with index, size, checksum, head and floor. */
export function verifyPartition(partition: MemoryPartition, reader: RecordReader): Finding[] {
  const findings: Finding[] = [];
  const report: Report = (problem, detail) => findings.push({ partition: partition.key, problem, detail });
  for (const [seq, entry] of partition.journal) verifyPlace(partition, seq, entry, report);
  const unreadable = verifyRecords(partition, reader, report);
  verifyIndex(partition, report);
  verifySize(partition, report);
  if (!unreadable) verifyFiles(partition, reader, report);
  // What cannot be read cannot be summed up either, and has been reported already.
  if (!unreadable) verifyChecksum(partition, reader, report);
  return findings;
}

function verifyPlace({ head, floor, index }: MemoryPartition, seq: number, entry: JournalEntry, report: Report): void {
  const isTombstone = entry.record === null;
  if (seq > head) report('seq_beyond_head', `seq ${seq} is beyond the head ${head}`);
  if (isTombstone && seq <= floor)
    report('tombstone_below_floor', `the tombstone at ${seq} is not above the floor ${floor}`);
  const known = index.get(entry.id);
  if (known?.seq !== seq || known.live === isTombstone) {
    report('missing_from_index', `the index does not know what stands at ${seq}`);
  }
}

/** Returns true if a record could not be read. */
function verifyRecords({ index, journal }: MemoryPartition, reader: RecordReader, report: Report): boolean {
  let unreadable = false;
  for (const [seq, entry] of journal) {
    if (entry.record === null) continue;
    try {
      const { id, checksum } = reader(entry.record);
      if (id !== entry.id) report('missing_from_index', `the record at ${seq} names another object than the index`);
      if (index.get(entry.id)?.checksum !== checksum) {
        report('wrong_object_checksum', `the index has another checksum than the record at ${seq}`);
      }
    } catch (error) {
      unreadable = true;
      report('unreadable', `the record at ${seq} cannot be read: ${error instanceof Error ? error.message : error}`);
    }
  }
  return unreadable;
}

function verifyIndex({ index, journal }: MemoryPartition, report: Report): void {
  for (const [id, { seq }] of index) {
    if (journal.get(seq)?.id !== id) report('missing_from_journal', `nothing stands at ${seq}, where the index points`);
  }
}

function verifyFiles({ files, journal }: MemoryPartition, reader: RecordReader, report: Report): void {
  const read = new Map<string, readonly string[]>();
  for (const { id, record } of journal.values()) {
    const found = record === null ? [] : (reader(record).files ?? []);
    if (found.length > 0) read.set(id, found);
  }
  for (const id of new Set([...files.keys(), ...read.keys()])) {
    const [noted, found] = [files, read].map((map) => [...(map.get(id) ?? [])].sort().join());
    if (noted !== found)
      report('wrong_files', `object ${JSON.stringify(id)}: the index has other files than its record`);
  }
}

function verifySize({ size, journal }: MemoryPartition, report: Report): void {
  const live = [...journal.values()].filter(({ record }) => record !== null).length;
  if (live !== size) report('wrong_size', `the size is ${size}, there are ${live} live objects`);
}

function verifyChecksum({ checksum, journal }: MemoryPartition, reader: RecordReader, report: Report): void {
  let sum = 0;
  for (const { record } of journal.values()) {
    if (record !== null) sum = addChecksums(sum, reader(record).checksum);
  }
  if (sum !== checksum) report('wrong_checksum', `the checksum is ${checksum}, that of the records is ${sum}`);
}
