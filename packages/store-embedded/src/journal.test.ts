import { inspectRecord, type PartitionKey, userPartition } from '@tidemark/core';
import { temporaryFolder } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openEmbeddedStore } from './open-store.ts';

const USERS = ['ada', 'bob'];
const OBJECTS = 1_000;
const PAGE_OBJECTS = 250;

const partitionOf = (user: string): PartitionKey => userPartition('s', user);

function recordsOf(user: string, round: number): readonly string[] {
  return Array.from({ length: OBJECTS }, (_, n) => `"o${n}":{"text":"${`${user} ${round} ${n} `.repeat(20)}"}`);
}

it('[PAGE-16] the bytes of a page stay the same while pages of others are read and the data is written again', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const store = await openEmbeddedStore({ folder: folder.path });
  onTestFinished(() => store.close());
  const kept: { readonly bytes: Uint8Array; readonly wanted: string }[] = [];
  for (let round = 0; round < 4; round++) {
    for (const user of USERS) {
      const changes = recordsOf(user, round).map((record) => ({ record, ...inspectRecord(record) }));
      await store.commit({ partition: partitionOf(user), changes, guards: [] });
    }
    for (let page = 0; page < OBJECTS / PAGE_OBJECTS; page++) {
      const reads = USERS.map(async (user) => {
        const after = round * OBJECTS + page * PAGE_OBJECTS;
        const range = { after, tombstonesAfter: after, entriesMax: PAGE_OBJECTS, unitsMax: 1e9 };
        const { records } = await store.readJoined(partitionOf(user), range);
        const wanted = recordsOf(user, round).slice(page * PAGE_OBJECTS, (page + 1) * PAGE_OBJECTS);
        kept.push({ bytes: records, wanted: wanted.join(',') });
      });
      await Promise.all(reads);
    }
  }
  const changed = kept.filter(({ bytes, wanted }) => new TextDecoder().decode(bytes) !== wanted);
  expect([kept.length, changed.length]).toEqual([32, 0]);
});
