import { rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { Store, Tidemark } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { openValkeyStore } from '@tidemark/store-valkey';
import { startValkey } from '@tidemark/testing';
import type { Row } from '../row.ts';
import { newFolder, objectsFrom, SOURCE, tidemarkOn } from '../world.ts';

const OBJECTS = 50_000;
const BATCH = 10_000;
const DEVICES = 5_000;
const DEVICES_PER_USER = 50;
const AT_ONCE = 64;
const OBJECT_RATIO_MAX = 3;
const DEVICE_BYTES_MAX = 3_000;
const MARK_BYTES_MAX = 700;

/** What things take on the disk of an embedded store, copied without its free pages, and in the memory of Valkey. */
export async function sizes(): Promise<readonly Row[]> {
  const folder = newFolder();
  const embedded = await openEmbeddedStore({ folder: join(folder, 'data') });
  const server = await startValkey({ settings: { appendonly: 'no' } });
  const valkey = await openValkeyStore({ address: server.address, answerMs: 60_000 });
  let copies = 0;
  const diskBytes = async () => {
    const copy = join(folder, `copy ${++copies}`);
    await embedded.backup(copy);
    return statSync(join(copy, 'store.mdb')).size;
  };
  const memoryBytes = async () => Number(/used_memory:(\d+)/.exec(String(await server.call('INFO', 'memory')))?.[1]);
  try {
    return [
      ...(await sizesOf('Embedded', embedded, diskBytes, 'bytes of disk')),
      ...(await sizesOf('Valkey', valkey, memoryBytes, 'bytes of memory')),
    ];
  } finally {
    await embedded.close();
    await valkey.close();
    await server.remove();
    rmSync(folder, { recursive: true, force: true });
  }
}

async function sizesOf(engine: string, store: Store, used: () => Promise<number>, unit: string): Promise<Row[]> {
  const tidemark = tidemarkOn(store);
  await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
  const users = await addUsers(tidemark);
  const empty = await used();
  const payload = await addObjects(tidemark);
  const filled = await used();
  const clients = await addDevices(tidemark, users);
  const peopled = await used();
  await addMarks(store, clients);
  const marked = await used();
  const object = (filled - empty) / OBJECTS;
  const row = (what: string, bytes: number, bytesMax: number): Row => ({
    name: `${engine}: ${what}, ${unit}`,
    measured: String(Math.round(bytes)),
    against: `${bytesMax} allowed`,
    ratio: bytes / bytesMax,
    bound: { atMost: 1 },
  });
  return [
    {
      name: `${engine}: an object, ${unit}`,
      measured: String(Math.round(object)),
      against: `${Math.round(payload / OBJECTS)} of id and JSON text`,
      ratio: object / (payload / OBJECTS),
      bound: { atMost: OBJECT_RATIO_MAX },
    },
    row('a device with its token', (peopled - filled) / DEVICES, DEVICE_BYTES_MAX),
    row('a device at rest, for each source', (marked - peopled) / DEVICES, MARK_BYTES_MAX),
  ];
}

/** Answers how much JSON text that was. */
async function addObjects(tidemark: Tidemark): Promise<number> {
  let payload = 0;
  for (let start = 0; start < OBJECTS; start += BATCH) {
    const objects = objectsFrom(start, BATCH);
    for (const [id, object] of Object.entries(objects)) payload += id.length + JSON.stringify(object).length;
    await tidemark.fastInsert({ source: SOURCE, objects });
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

async function addMarks(store: Store, clients: readonly string[]): Promise<void> {
  const partition = { source: SOURCE, user: null };
  const { epoch, head } = await store.partition(partition);
  for (let start = 0; start < clients.length; start += AT_ONCE) {
    const some = clients.slice(start, start + AT_ONCE).map((client) => {
      const mark = { client, epoch, seq: head, base: head, start: null, seenAtMs: Date.now() };
      return store.noteTidemark(partition, mark, []);
    });
    await Promise.all(some);
  }
}
