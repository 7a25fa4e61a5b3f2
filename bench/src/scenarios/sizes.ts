import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { PartitionKey, Store, Tidemark } from '@tidemark/core';
import { sharedPartition, userPartition } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStore } from '@tidemark/store-valkey';
import { startValkey } from '@tidemark/testing';
import { newFolder, objectsFrom, SOURCE, tidemarkOn } from '../fixture.ts';
import type { Row } from '../row.ts';

const OBJECTS = 50_000;
const BATCH = 10_000;
const DEVICES = 5_000;
const DEVICES_PER_USER = 50;
const AT_ONCE = 64;
const OBJECT_RATIO_MAX = 3;
const DEVICE_BYTES_MAX = 3_000;
const MARK_BYTES_MAX = 700;
/** Users with one device and one object each in a source of their own. */
const OWNERS = 1_000;
const OWN_SOURCE = 'Own';
const OWN_SOURCE_BYTES_MAX = 1_000;
const OWN_MARK_BYTES_MAX = 2_800;
/** The setting of Valkey that the page about sizing recommends: small sorted sets of tidemarks stay compact. */
const COMPACT = { 'zset-max-listpack-value': '128' };

/** A store, and how much it takes at present. */
interface Measured {
  readonly name: string;
  readonly unit: string;
  readonly store: Store;
  used(): Promise<number>;
  close(): Promise<void>;
}

/** What things take on the disk of an embedded store, copied without its free pages, and in the memory of Valkey. */
export async function sizes(): Promise<readonly Row[]> {
  const engines = [await openEmbedded(), await openValkey('Valkey', {}), await openValkey('Valkey, compact', COMPACT)];
  const [embedded, valkey] = engines;
  const rows: Row[] = [];
  try {
    for (const engine of [embedded, valkey]) if (engine !== undefined) rows.push(...(await sizesOf(engine)));
    for (const engine of engines) rows.push(...(await ownSizesOf(engine)));
    return rows;
  } finally {
    for (const engine of engines) await engine.close();
  }
}

async function openEmbedded(): Promise<Measured> {
  const folder = newFolder();
  const store = await openEmbeddedStore({ folder: join(folder, 'data') });
  let copies = 0;
  return {
    ...{ name: 'Embedded', unit: 'bytes of disk', store },
    async used() {
      const copy = join(folder, `copy ${++copies}`);
      await store.backup(copy);
      return statSync(join(copy, 'store.mdb')).size;
    },
    async close() {
      await store.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function openValkey(name: string, settings: Readonly<Record<string, string>>): Promise<Measured> {
  const server = await startValkey({ settings: { appendonly: 'no', ...settings } });
  const store = await openValkeyStore({ address: server.address, answerMs: 60_000 });
  return {
    ...{ name, unit: 'bytes of memory', store },
    used: async () => Number(/used_memory:(\d+)/.exec(String(await server.call('INFO', 'memory')))?.[1]),
    async close() {
      await store.close();
      await server.remove();
    },
  };
}

async function sizesOf({ name, unit, store, used }: Measured): Promise<Row[]> {
  const tidemark = tidemarkOn(store);
  await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
  const users = await addUsers(tidemark);
  const empty = await used();
  const payload = await addObjects(tidemark);
  const filled = await used();
  const clients = await addDevices(tidemark, users);
  const peopled = await used();
  await addMarks(store, sharedPartition(SOURCE), clients);
  const marked = await used();
  const object = (filled - empty) / OBJECTS;
  return [
    {
      name: `${name}: an object, ${unit}`,
      measured: String(Math.round(object)),
      against: `${Math.round(payload / OBJECTS)} of id and JSON text`,
      ratio: object / (payload / OBJECTS),
      bound: { atMost: OBJECT_RATIO_MAX },
    },
    bytesRow(`${name}: a device with its token, ${unit}`, (peopled - filled) / DEVICES, DEVICE_BYTES_MAX),
    bytesRow(
      `${name}: a device at rest, for each shared source, ${unit}`,
      (marked - peopled) / DEVICES,
      MARK_BYTES_MAX,
    ),
  ];
}

/** What sources take that belong to one user with one device. Their keys are many and small. */
async function ownSizesOf({ name, unit, store, used }: Measured): Promise<Row[]> {
  const tidemark = tidemarkOn(store);
  await tidemark.sources.declare({ name: OWN_SOURCE });
  const owners = await addOwners(tidemark);
  const before = await used();
  let payload = 0;
  for (const [index, { user }] of owners.entries()) {
    const objects = objectsFrom(index, 1);
    payload += JSON.stringify(objects).length;
    await tidemark.objects.fastInsert({ source: OWN_SOURCE, user_id: user, objects });
  }
  const filled = await used();
  for (const { user, client } of owners) await addMarks(store, userPartition(OWN_SOURCE, user), [client]);
  const sourceBytes = (filled - before - payload) / OWNERS;
  const markBytes = ((await used()) - filled) / OWNERS;
  return [
    bytesRow(
      `${name}: a source of one user, besides the text of its object, ${unit}`,
      sourceBytes,
      OWN_SOURCE_BYTES_MAX,
    ),
    bytesRow(`${name}: a device at rest, for each source of its user, ${unit}`, markBytes, OWN_MARK_BYTES_MAX),
  ];
}

function bytesRow(name: string, bytes: number, bytesMax: number): Row {
  return {
    name,
    measured: String(Math.round(bytes)),
    against: `${bytesMax} allowed`,
    ratio: bytes / bytesMax,
    bound: { atMost: 1 },
  };
}

/** Answers how much JSON text that was. */
async function addObjects(tidemark: Tidemark): Promise<number> {
  let payload = 0;
  for (let start = 0; start < OBJECTS; start += BATCH) {
    const objects = objectsFrom(start, BATCH);
    for (const [id, object] of Object.entries(objects)) payload += id.length + JSON.stringify(object).length;
    await tidemark.objects.fastInsert({ source: SOURCE, objects });
  }
  return payload;
}

async function addUsers(tidemark: Tidemark): Promise<readonly string[]> {
  const users: string[] = [];
  while (users.length < DEVICES / DEVICES_PER_USER) users.push(await tidemark.users.ensure(`user ${users.length}`));
  return users;
}

async function addDevices(tidemark: Tidemark, users: readonly string[]): Promise<readonly string[]> {
  const clients: string[] = [];
  for (const user of users) {
    const some = Array.from({ length: DEVICES_PER_USER }, async () => {
      const { client_id: client } = await tidemark.clients.register(user, {});
      await tidemark.tokens.issue({ user, client, scopes: ['device'], expiresAtMs: null });
      return client;
    });
    clients.push(...(await Promise.all(some)));
  }
  return clients;
}

interface Owner {
  readonly user: string;
  readonly client: string;
}

async function addOwners(tidemark: Tidemark): Promise<readonly Owner[]> {
  const owners: Owner[] = [];
  while (owners.length < OWNERS) {
    const user = await tidemark.users.ensure(`owner ${owners.length}`);
    owners.push({ user, client: (await tidemark.clients.register(user, {})).client_id });
  }
  return owners;
}

async function addMarks(store: Store, partition: PartitionKey, clients: readonly string[]): Promise<void> {
  const { epoch, head } = await store.partition(partition);
  for (let start = 0; start < clients.length; start += AT_ONCE) {
    const some = clients.slice(start, start + AT_ONCE).map((client) => {
      const mark = { client, epoch, seq: head, base: head, start: null, seenAtMs: Date.now() };
      return store.noteTidemark(partition, mark, []);
    });
    await Promise.all(some);
  }
}
