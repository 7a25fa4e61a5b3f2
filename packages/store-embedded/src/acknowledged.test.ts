import { join } from 'node:path';
import type { DeviceTidemark, PartitionKey } from '@tidemark/core';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';
import { MAP_BYTES, openTables } from './tables.ts';

const ORDERS: PartitionKey = { source: 'Order', user: null };
const CHANGE = { id: '1', record: '"1":{"a":1}', checksum: 1 };

function mark(client: string, base: number | null, epoch = 'e'): DeviceTidemark {
  return { client, epoch, seq: base ?? 0, base, start: base === null ? 9 : null, seenAtMs: 1 };
}

it('[EMB-15] a store without an index of acknowledgements gets one when it is opened', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const first = await openEmbeddedStore({ folder: folder.path });
  await first.commit({ partition: ORDERS, changes: [CHANGE], guards: [] });
  for (const one of [mark('a', 1), mark('b', 5), mark('c', null), mark('d', 1, 'f')]) {
    await first.noteTidemark(ORDERS, one, []);
  }
  await first.close();
  const tables = openTables(join(folder.path, 'store.mdb'), { mapBytes: MAP_BYTES });
  tables.acknowledged.clearSync();
  tables.acknowledgedCounts.clearSync();
  await tables.root.close();

  const again = await openEmbeddedStore({ folder: folder.path });
  onTestFinished(() => again.close());
  expect(await again.countAcknowledged(ORDERS, { epoch: 'e', below: 5 })).toEqual({ devices: 3, below: 2 });
  expect(await again.countAcknowledged(ORDERS, { epoch: 'f', below: 5 })).toEqual({ devices: 1, below: 1 });
  const listed = await again.listAcknowledged(ORDERS, { epoch: 'e', below: 9, limit: 9 });
  expect(listed.map(({ client }) => client)).toEqual(['c', 'a', 'b']);
  await again.noteTidemark(ORDERS, mark('a', 6), []);
  expect(await again.countAcknowledged(ORDERS, { epoch: 'e', below: 5 })).toEqual({ devices: 3, below: 1 });
});
