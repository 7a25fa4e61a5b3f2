import type { Device, QueryOptions } from '@tidemark/client';
import { openTestServer, Rng, seededRandom, type TestServer } from '@tidemark/client-testing';
import type { JsonValue } from '@tidemark/protocol';
import { expect, it, onTestFinished } from 'vitest';
import type { SqliteDriver } from './sqlite-driver.ts';
import { openSqliteStore } from './sqlite-store.ts';
import { sqlites } from './testing/sqlites.ts';

type Attributes = Readonly<Record<string, JsonValue>>;
type AnyOptions = QueryOptions<Record<string, never>>;

/** Two sources that get the same objects and the same changes; of one the objects are in memory, of the other on the disk. */
const [MEMORY, DISK] = ['InMemory', 'OnDisk'];
const IDS = ['a', 'b', 'c!', '!d', 'é', '\ue000', '😀', 'Z', 'aa', 'constructor', ...'0123456789'];
const VALUES: readonly JsonValue[] = [null, true, false, 0, 1, 1.5, -2, 'x', 'xy', 'ü', '😀', '\uffee', [1], { n: 1 }];
const PATHS = ['n', 'deep.value', 'a\\.b', 'none'];
const INDEXES = ['n', 'deep.value'];

async function openBoth(server: TestServer, open: () => Promise<SqliteDriver>): Promise<Device> {
  const store = await openSqliteStore(await open());
  const device = await server.openDevice({ user: 'ada', store });
  device.source(DISK, { keep: 'disk', indexes: INDEXES });
  device.source(MEMORY, { indexes: INDEXES });
  return device;
}

async function openServer(): Promise<TestServer> {
  const sources = [MEMORY, DISK].map((name) => ({ name }));
  const server = await openTestServer({ sources, users: ['ada'] });
  onTestFinished(() => server.close());
  return server;
}

function drawAttributes(rng: Rng): Attributes {
  const drawn = {
    n: rng.chance(80) ? rng.pick(VALUES) : undefined,
    deep: rng.chance(80) ? { value: rng.pick(VALUES) } : 1,
    'a.b': rng.chance(50) ? rng.below(3) : undefined,
  };
  return Object.fromEntries(Object.entries(drawn).filter(([, value]) => value !== undefined)) as Attributes;
}

function drawWhere(rng: Rng): object {
  const value = rng.pick(VALUES);
  const operator = rng.pick(['eq', 'ne', 'lt', 'lte', 'gt', 'gte', 'in', 'prefix', 'exists', 'two']);
  const path = rng.pick(PATHS);
  if (operator === 'in') return { [path]: { in: [value, rng.pick(VALUES), value] } };
  if (operator === 'prefix') return { [path]: { prefix: rng.pick(['', 'x', 'ü']) } };
  if (operator === 'exists') return { [path]: { exists: rng.chance(50) } };
  if (operator === 'two') return { and: [drawWhere(rng), drawWhere(rng)] };
  return rng.chance(10) ? { or: [drawWhere(rng), { n: { eq: value } }] } : { [path]: { [operator]: value } };
}

function drawOptions(rng: Rng): AnyOptions {
  const orderBy = Array.from({ length: rng.below(3) }, () => {
    const path = rng.pick(PATHS);
    return rng.chance(50) ? path : { [path]: rng.pick(['asc', 'desc'] as const) };
  });
  return {
    ...(rng.chance(60) ? { where: drawWhere(rng) } : {}),
    ...(orderBy.length > 0 ? { orderBy } : {}),
    ...(rng.chance(70) ? { limit: rng.below(6) } : {}),
    ...(rng.chance(40) ? { offset: rng.below(8) } : {}),
  } as AnyOptions;
}

const plain = (rows: readonly { readonly id: string; readonly attributes: object; readonly isPending: boolean }[]) =>
  rows.map(({ id, attributes, isPending }) => [id, attributes, isPending]);

async function change(server: TestServer, device: Device, rng: Rng): Promise<void> {
  const ids = rng.shuffle(IDS).slice(0, 1 + rng.below(4));
  const objects = Object.fromEntries(ids.map((id) => [id, drawAttributes(rng)]));
  const kind = rng.pick(['push', 'remove', 'edit', 'edit', 'startOver', 'offline', 'online']);
  for (const source of [MEMORY, DISK]) {
    if (kind === 'push') await server.push(source, objects, { user: 'ada' });
    if (kind === 'remove') await server.remove(source, ids, { user: 'ada' });
    if (kind !== 'edit') continue;
    for (const [id, attributes] of Object.entries(objects)) {
      const own = device.source(source);
      const known = await own.fetch(id);
      if (known === undefined) await own.create(attributes, { id });
      else await own.update(id, attributes);
    }
  }
  if (kind === 'edit' && ids[0] !== undefined && ids.length % 2 === 0) {
    for (const source of [MEMORY, DISK]) await device.source(source).delete(ids[0]);
  }
  if (kind === 'startOver') await device.startOver();
  if (kind === 'offline') server.network.goOffline();
  if (kind === 'online') server.network.goOnline();
  if (server.network.hints.isOnline()) await device.sync();
}

async function compare(device: Device, options: AnyOptions, message: string): Promise<void> {
  const [memory, disk] = [MEMORY, DISK].map((name) => device.source<Record<string, never>>(name).query(options));
  if (memory === undefined || disk === undefined) throw new Error('two sources have two queries');
  await disk.fetch();
  expect(plain(disk.getSnapshot()), message).toEqual(plain(memory.getSnapshot()));
  disk.count();
  await disk.fetch();
  expect(disk.count(), message).toBe(memory.count());
}

const SEEDS = [1, 2, 3, 4, 5, 6];
const RUNS = (await sqlites()).flatMap(([name, open], at) =>
  // One seed runs on all of them.
  (at === 0 ? SEEDS : [1, 10 + at]).map((seed) => [name, seed, open] as const),
);

it.each(RUNS)(
  '[DISK-3] queries on the disk give what they give in memory, order and counts included, over random histories (%s, seed %i)',
  async (_, seed, open) => {
    const rng = new Rng(seededRandom(seed));
    const server = await openServer();
    const device = await openBoth(server, open);
    const live = Array.from({ length: 6 }, () => drawOptions(rng));
    for (const options of live) {
      for (const name of [MEMORY, DISK])
        device
          .source<Record<string, never>>(name)
          .query(options)
          .subscribe(() => undefined);
    }
    for (let step = 0; step < 40; step++) {
      await change(server, device, rng);
      for (const options of [...live, drawOptions(rng), drawOptions(rng)]) {
        await compare(device, options, `seed ${seed}, step ${step}: ${JSON.stringify(options)}`);
      }
    }
  },
);
