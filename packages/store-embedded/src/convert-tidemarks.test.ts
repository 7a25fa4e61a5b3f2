import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type DeviceTidemark,
  type Finding,
  groupPartition,
  inspectRecord,
  type PartitionKey,
  type Store,
  sharedPartition,
} from '@tidemark/core';
import { temporaryFolder } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { convertTidemarks } from './convert-tidemarks.ts';
import { keyOf } from './keys.ts';
import { openEmbeddedStore } from './open-store.ts';
import { readPartition } from './partitions.ts';
import { MAP_BYTES, openTables, openTextTable, type Tables } from './tables.ts';

const ORDERS: PartitionKey = sharedPartition('Order');
const VISITS: PartitionKey = groupPartition('Visit', 'north');
const RECORD = '"1":{"a":1}';
const CHANGE = { id: '1', record: RECORD, checksum: inspectRecord(RECORD).checksum };
const FORMER_TABLES = ['tidemarks', 'client_tidemarks', 'acknowledged', 'acknowledged_counts'];

function mark(client: string, base: number | null, epoch: string): DeviceTidemark {
  return { client, epoch, seq: base ?? 0, base, start: base === null ? 9 : null, seenAtMs: 1_700_000_000_000 };
}

async function newFolder(): Promise<string> {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  return join(folder.path, 'data');
}

async function opened(folder: string): Promise<Store> {
  const store = await openEmbeddedStore({ folder });
  onTestFinished(() => store.close());
  return store;
}

const tablesIn = (folder: string) => openTables(join(folder, 'store.mdb'), { mapBytes: MAP_BYTES });

/** Writes a tidemark as format 4 did, and one entry into each of its indexes. */
function putFormer(tables: Tables, partition: number, { client, epoch, seq, base, start, seenAtMs }: DeviceTidemark) {
  const [rows, byClient, acknowledged, counts] = FORMER_TABLES.map((name) => openTextTable(tables.root, name));
  const numbers = [seq, base, start, seenAtMs].map((number) => number?.toString(36) ?? '');
  rows?.putSync(keyOf(partition, client), [...numbers, epoch].join('.'));
  byClient?.putSync(keyOf(client, partition), '');
  acknowledged?.putSync(keyOf(partition, epoch, base ?? 0, client), '');
  counts?.putSync(keyOf(partition, epoch), '1');
}

/** A folder of format 4, and its tidemarks. */
async function folderOfFormat4(): Promise<{ readonly folder: string; readonly marks: readonly DeviceTidemark[] }> {
  const folder = await newFolder();
  const store = await openEmbeddedStore({ folder });
  for (const partition of [ORDERS, VISITS]) await store.commit({ partition, changes: [CHANGE], guards: [] });
  const { epoch } = await store.partition(ORDERS);
  const { epoch: ofVisits } = await store.partition(VISITS);
  await store.close();
  const marks = [mark('a', 1, epoch), mark('b', 5, epoch), mark('c', null, epoch), mark('d', 1, 'another.epoch')];
  const tables = tablesIn(folder);
  const orders = readPartition(tables, ORDERS)?.number ?? 0;
  for (const one of marks) putFormer(tables, orders, one);
  putFormer(tables, readPartition(tables, VISITS)?.number ?? 0, mark('a', 1, ofVisits));
  putFormer(tables, 999, mark('a', 1, epoch));
  await tables.root.close();
  const manifest = join(folder, 'tidemark.json');
  writeFileSync(manifest, readFileSync(manifest, 'utf8').replace('"format": 5', '"format": 4'));
  return { folder, marks };
}

const byClient = (marks: readonly DeviceTidemark[]) =>
  [...marks].sort((left, right) => (left.client < right.client ? -1 : 1));

async function expectConverted(folder: string, marks: readonly DeviceTidemark[]): Promise<void> {
  expect(JSON.parse(readFileSync(join(folder, 'tidemark.json'), 'utf8'))).toMatchObject({ format: 5, state: 'ready' });
  const store = await opened(folder);
  expect(byClient(await store.listTidemarks(ORDERS, { limit: 10 }))).toEqual(marks);
  for (const one of marks) expect(await store.readTidemark(ORDERS, one.client)).toEqual(one);
  const { epoch } = await store.partition(ORDERS);
  expect(await store.countAcknowledged(ORDERS, { epoch, below: 5 })).toEqual({ devices: 3, below: 2 });
  expect(await store.countAcknowledged(ORDERS, { epoch: 'another.epoch', below: 5 })).toEqual({ devices: 1, below: 1 });
  const listed = await store.listAcknowledged(ORDERS, { epoch, below: 9, limit: 9 });
  expect(listed.map(({ client }) => client)).toEqual(['c', 'a', 'b']);
  expect(await store.listTidemarks(VISITS, { limit: 10 })).toHaveLength(1);
  const findings: Finding[] = [];
  for await (const finding of store.verify(inspectRecord)) findings.push(finding);
  expect(findings).toEqual([]);
  await store.writeEntries({ writes: [], guards: [], erase: { clients: ['a'] } });
  expect(await store.listTidemarks(VISITS, { limit: 10 })).toEqual([]);
  expect(await store.countAcknowledged(ORDERS, { epoch, below: 5 })).toEqual({ devices: 2, below: 1 });
}

/** The number of entries in each of the former tables. */
function formerEntries(folder: string): readonly number[] {
  const tables = tablesIn(folder);
  onTestFinished(() => tables.root.close());
  return FORMER_TABLES.map((name) => openTextTable(tables.root, name).getKeysCount({}));
}

describe('the layout of tidemarks', () => {
  it('[EMB-15] a folder of format 4 keeps its tidemarks, with their index, when it is opened', async () => {
    const { folder, marks } = await folderOfFormat4();
    await (await openEmbeddedStore({ folder })).close();
    await expectConverted(folder, marks);
    expect(formerEntries(folder)).toEqual([0, 0, 0, 0]);
  });

  it.each([1, 2, 3])('[EMB-15] a conversion that ended after step %i goes on at the next opening', async (steps) => {
    const { folder, marks } = await folderOfFormat4();
    const tables = tablesIn(folder);
    const conversion = convertTidemarks(tables, 2)[Symbol.iterator]();
    for (let step = 0; step < steps; step++) expect(conversion.next().done).toBe(false);
    await tables.root.close();
    expect(formerEntries(folder)[0]).toBe(6 - 2 * steps);
    await (await openEmbeddedStore({ folder })).close();
    await expectConverted(folder, marks);
  });

  it('[EMB-15] what a process of an earlier version writes after the conversion is moved at the next opening', async () => {
    const { folder, marks } = await folderOfFormat4();
    await (await openEmbeddedStore({ folder })).close();
    const late = mark('late', 2, marks[0]?.epoch ?? '');
    const tables = tablesIn(folder);
    putFormer(tables, readPartition(tables, ORDERS)?.number ?? 0, late);
    await tables.root.close();
    const store = await opened(folder);
    expect(byClient(await store.listTidemarks(ORDERS, { limit: 10 }))).toEqual(byClient([...marks, late]));
    expect(formerEntries(folder)).toEqual([0, 0, 0, 0]);
  });

  it('[EMB-16] a tidemark keeps the epoch in which it was recorded when a backup is opened', async () => {
    const folder = await newFolder();
    const first = await opened(folder);
    await first.commit({ partition: ORDERS, changes: [CHANGE], guards: [] });
    const epochs = [(await first.partition(ORDERS)).epoch];
    await first.noteTidemark(ORDERS, mark('c0', 1, epochs[0] ?? ''), []);
    let store = first;
    for (const client of ['c1', 'c2']) {
      const copy = await newFolder();
      await store.backup(copy);
      store = await opened(copy);
      const { epoch } = await store.partition(ORDERS);
      expect(epochs).not.toContain(epoch);
      epochs.push(epoch);
      await store.noteTidemark(ORDERS, mark(client, 1, epoch), []);
    }
    for (const [index, epoch] of epochs.entries()) {
      expect((await store.readTidemark(ORDERS, `c${index}`))?.epoch).toBe(epoch);
      expect(await store.countAcknowledged(ORDERS, { epoch, below: 9 })).toEqual({ devices: 1, below: 1 });
    }
  });
});
