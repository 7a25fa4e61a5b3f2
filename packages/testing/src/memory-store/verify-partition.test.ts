import { expect, it } from 'vitest';
import { bury, put, readRecord } from '../contracts/store/change.ts';
import { commitChanges } from './commit-changes.ts';
import { type MemoryPartition, newLife, partitionOf } from './memory-life.ts';
import { trimGraves } from './trim-tombstones.ts';
import { verifyPartition } from './verify-partition.ts';

const KEY = { source: 'Order', user: 'ann' };

/** Stands: a 1, c 3, tombstone b 4. */
function soundPartition(): MemoryPartition {
  const life = newLife('epoch');
  const commit = { partition: KEY, guards: [] };
  commitChanges(life, { ...commit, changes: [put('a'), put('b'), put('c')] }, () => 'word');
  commitChanges(life, { ...commit, changes: [bury('b')] }, () => 'word');
  return partitionOf(life, KEY);
}

/** What verify finds once the partition has been tampered with. */
function foundAfter(tamper: (partition: MemoryPartition) => void): string[] {
  const partition = soundPartition();
  tamper(partition);
  const findings = verifyPartition(partition, readRecord);
  for (const finding of findings) expect(finding.partition).toEqual(KEY);
  return findings.map(({ problem }) => problem);
}

it('[STORE-60] a sound partition has no findings, trimmed or not', () => {
  expect(foundAfter(() => undefined)).toEqual([]);
  expect(foundAfter((partition) => trimGraves(partition, 4, 10))).toEqual([]);
});

it('[STORE-61] numbers that do not follow from the records are found', () => {
  expect(foundAfter((partition) => Object.assign(partition, { size: 3 }))).toEqual(['wrong_size']);
  expect(foundAfter((partition) => Object.assign(partition, { checksum: 1 }))).toEqual(['wrong_checksum']);
  expect(foundAfter((partition) => Object.assign(partition, { head: 3 }))).toEqual(['seq_beyond_head']);
  expect(foundAfter((partition) => Object.assign(partition, { floor: 4 }))).toEqual(['grave_below_floor']);
});

it('[STORE-61] what the index lacks or has wrong is found', () => {
  const checksum = put('a').checksum;
  expect(foundAfter(({ index }) => index.delete('b'))).toEqual(['missing_from_index']);
  expect(foundAfter(({ index }) => index.set('b', { seq: 4, live: true, checksum: 0 }))).toEqual([
    'missing_from_index',
  ]);
  expect(foundAfter(({ index }) => index.set('a', { seq: 1, live: true, checksum: checksum + 1 }))).toEqual([
    'wrong_object_checksum',
  ]);
  expect(foundAfter(({ index }) => index.set('a', { seq: 2, live: true, checksum }))).toEqual([
    'missing_from_index',
    'missing_from_journal',
  ]);
});

it('[STORE-61] what the journal lacks or cannot be read is found', () => {
  expect(foundAfter(({ journal }) => journal.delete(4))).toEqual(['missing_from_journal']);
  expect(foundAfter(({ journal }) => journal.delete(1))).toEqual([
    'missing_from_journal',
    'wrong_size',
    'wrong_checksum',
  ]);
  expect(foundAfter(({ journal }) => journal.set(1, { id: 'a', record: 'torn' }))).toEqual(['unreadable']);
});
