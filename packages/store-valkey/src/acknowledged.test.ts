import type { DeviceTidemark, PartitionKey } from '@tidemark/core';
import { sharedPartition } from '@tidemark/core';
import { scopeOf } from '@tidemark/core/ports';
import { startValkey } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';

import { Layout } from './layout.ts';
import { openValkeyStore } from './open-store.ts';

const ORDERS: PartitionKey = sharedPartition('Order');
const CHANGE = { id: '1', record: '"1":{"a":1}', checksum: 1 };
/** More than one call of the script indexes. */
const DEVICES = 2_500;
const BATCH = 100;

function mark(client: string, base: number | null): DeviceTidemark {
  return { client, epoch: 'e', seq: base ?? 0, base, start: base === null ? 9 : null, seenAtMs: 1 };
}

it('[VALKEY-32] tidemarks written by servers without the index of acknowledgements are indexed when it is read', async () => {
  const server = await startValkey();
  // The machine may be busy, and the time of a reply is not what is tested here.
  const store = await openValkeyStore({ address: server.address, answerMs: 300_000 });
  onTestFinished(async () => {
    await store.close();
    await server.remove();
  });
  await store.commit({ partition: ORDERS, changes: [CHANGE], guards: [] });
  const marks = Array.from({ length: DEVICES }, (_, index) => mark(`c${index}`, index % 10 === 0 ? null : index));
  for (let from = 0; from < DEVICES; from += BATCH) {
    await Promise.all(marks.slice(from, from + BATCH).map((one) => store.noteTidemark(ORDERS, one, [])));
  }
  const range = { epoch: 'e', below: 101 };
  const counted = await store.countAcknowledged(ORDERS, range);
  expect(counted).toEqual({ devices: DEVICES, below: DEVICES / 10 + 90 });
  const keys = new Layout('tidemark:').scope(scopeOf(ORDERS));
  await server.call('DEL', keys.one('acknowledged'));
  const listed = await store.listAcknowledged(ORDERS, { ...range, limit: 3 });
  expect(listed.map(({ client }) => client)).toEqual(['c0', 'c10', 'c100']);
  expect(await store.countAcknowledged(ORDERS, range)).toEqual(counted);

  // A server without the index moves a tidemark, and one with it moves it again.
  await server.call('ZREM', keys.one('tidemarks'), 'c1\0' + '1.1..1.e');
  await server.call('ZADD', keys.one('tidemarks'), '0', 'c1\0' + '50.50..1.e');
  await store.noteTidemark(ORDERS, mark('c1', 2_000), []);
  expect(await store.countAcknowledged(ORDERS, range)).toEqual({ ...counted, below: counted.below - 1 });
});
