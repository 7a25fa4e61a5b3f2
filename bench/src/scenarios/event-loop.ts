import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { type Change, sharedPartition } from '@tidemark/core';
import { type Database, open } from 'lmdb';
import { type Fixture, newFolder } from '../fixture.ts';
import { longestHoldMs, median } from '../measure.ts';
import type { Row } from '../row.ts';

const OBJECTS = 100_000;
const ROUNDS = 5;

/**
 * How long the event loop is held at a time while a write of 100,000 objects is committed, against the bare library's
 * asynchronous transaction writing the same texts.
 */
export async function eventLoop({ store }: Fixture): Promise<Row> {
  const texts = Array.from({ length: OBJECTS }, (_, index) => `"o${index}":{"text":"${'x'.repeat(180)}"}`);
  const changes: Change[] = texts.map((record, index) => ({ id: `o${index}`, record, checksum: index }));
  const folder = newFolder();
  const root = open({ path: join(folder, 'raw.mdb'), maxDbs: 4, overlappingSync: false });
  const table = root.openDB<string, number>('t', { encoding: 'string', keyEncoding: 'uint32' });
  const ours: number[] = [];
  const bare: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const partition = sharedPartition(`Bulk ${round}`);
    ours.push(await longestHoldMs(() => store.commit({ partition, changes, guards: [] })));
    bare.push(await longestHoldMs(() => root.transaction(() => putAll(table, texts))));
  }
  await root.close();
  rmSync(folder, { recursive: true, force: true });
  return {
    name: 'event loop held by a write of 100,000',
    measured: `${median(ours).toFixed(0)} ms`,
    against: `${median(bare).toFixed(0)} ms by bare lmdb`,
    ratio: median(ours) / median(bare),
    bound: { atMost: 0.5 },
  };
}

function putAll(table: Database<string, number>, texts: readonly string[]): void {
  for (const [index, text] of texts.entries()) table.put(index, text);
}
