import { userPartition } from '@tidemark/core';
import { expect, it } from 'vitest';
import { commitChanges } from '../../../client-testing/src/memory-store/commit-changes.ts';
import { trimGraves } from '../../../client-testing/src/memory-store/journal.ts';
import { type MemoryPartition, newData, partitionOf } from '../../../client-testing/src/memory-store/memory-data.ts';
import { verifyPartition } from '../../../client-testing/src/memory-store/verify-partition.ts';
import { put, readRecord, remove } from '../contracts/store/change.ts';

const KEY = userPartition('Order', 'ann');

/** The journal then holds: a 1, c 3, tombstone b 4. */
function soundPartition(): MemoryPartition {
  const data = newData('epoch');
  const commit = { partition: KEY, guards: [] };
  commitChanges(data, { ...commit, changes: [put('a'), put('b'), put('c')] }, () => 'word');
  commitChanges(data, { ...commit, changes: [remove('b')] }, () => 'word');
  return partitionOf(data, KEY);
}

/** Returns the findings of verify for a manipulated partition. */
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
  expect(foundAfter((partition) => Object.assign(partition, { floor: 4 }))).toEqual(['tombstone_below_floor']);
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
