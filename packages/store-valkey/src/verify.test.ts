import type { Change, Finding, PartitionKey, RecordReader } from '@tidemark/core';
import { userPartition } from '@tidemark/core';
import { scopeOf } from '@tidemark/core/ports';
import { textChecksum } from '@tidemark/protocol';
import { startValkey, type ValkeyServer } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

import { Layout, type ScopeKeyName } from './layout.ts';
import { openValkeyStore } from './open-store.ts';

/** The machine may be busy with other tests, and the time of a reply is not what is tested here. */
const PATIENCE_MS = 300_000;

const ORDERS: PartitionKey = userPartition('Order', 'ann');
const put = (id: string): Change => ({ id, record: id, checksum: textChecksum(id) });
const remove = (id: string): Change => ({ id, record: null, checksum: 0 });
const reader: RecordReader = (record) => {
  if (record === '') throw new Error('empty');
  return { id: record, checksum: textChecksum(record) };
};

let server: ValkeyServer;
let stores = 0;

beforeAll(async () => {
  server = await startValkey({ settings: { appendonly: 'no' } });
});

afterAll(() => server.remove());

/** Damages a partition with three objects and two tombstones, one of them trimmed, and verifies it. */
async function damaged(key: ScopeKeyName, command: string, ...args: readonly (string | number)[]): Promise<Finding[]> {
  const prefix = `${++stores}:`;
  const store = await openValkeyStore({ answerMs: PATIENCE_MS, address: server.address, prefix });
  onTestFinished(() => store.close());
  const commit = (changes: readonly Change[]) => store.commit({ partition: ORDERS, changes, guards: [] });
  await commit([put('a'), put('b'), put('c'), put('d'), put('e')]);
  await commit([remove('d'), remove('e')]);
  await store.trim(ORDERS, 6);
  const name = new Layout(prefix).scope(scopeOf(ORDERS)).one(key);
  if (command !== '') await server.call(command, name, ...args);
  const findings: Finding[] = [];
  for await (const finding of store.verify(reader)) findings.push(finding);
  for (const { partition } of findings) expect(partition).toEqual(ORDERS);
  return findings;
}

describe('verify', () => {
  it('[VALKEY-18] verify finds nothing in an undamaged partition', async () => {
    expect(await damaged('state', '')).toEqual([]);
  });

  it.each([
    ['a record that is gone', 'records', ['HDEL', 'b'], ['unreadable', 'wrong_checksum', 'missing_from_journal']],
    ['a record nobody points at', 'records', ['HSET', 'x', 'x'], ['missing_from_index']],
    ['an object that left the journal', 'live', ['ZREM', 'a'], ['wrong_size', 'wrong_checksum', 'missing_from_index']],
    ['an object beyond the head', 'live', ['ZADD', 99, 'c'], ['seq_beyond_head']],
    ['a tombstone below the floor', 'tombstones', ['ZADD', 2, 'z'], ['tombstone_below_floor']],
    ['another size', 'state', ['HSET', 'n', 7], ['wrong_size', 'missing_from_index']],
    ['another checksum', 'state', ['HSET', 'c', 7], ['wrong_checksum']],
    [
      'a record that was changed',
      'records',
      ['HSET', 'a', '00000000000001b'],
      ['missing_from_index', 'wrong_object_checksum', 'wrong_checksum'],
    ],
  ] as const)('[VALKEY-18] verify names %s', async (_, key, [command, ...args], problems) => {
    const findings = await damaged(key, command, ...args);
    expect(findings.map(({ problem }) => problem)).toEqual(problems);
  });
});
