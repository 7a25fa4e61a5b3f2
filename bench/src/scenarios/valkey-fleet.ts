import type { Store, Tidemark } from '@tidemark/core';
import { openValkeyStore } from '@tidemark/store-valkey';
import { startValkey, type ValkeyServer } from '@tidemark/testing';
import { idOf, objectsFrom, tidemarkOn } from '../fixture.ts';
import { compare } from '../measure.ts';
import { countRoundTrips } from '../round-trips.ts';
import type { Row } from '../row.ts';

/** How large the fleet is: objects spread over partitions, one per user, and devices over the users. */
export interface FleetSize {
  readonly objects: number;
  readonly partitions: number;
  readonly devices: number;
}

/** Small enough for every day; `--objects 1000000 --partitions 10000 --devices 100000` is the large one. */
export const SMALL_FLEET: FleetSize = { objects: 20_000, partitions: 200, devices: 2_000 };

const SOURCE = 'Order';
const SHARED = ['Product', 'Price', 'Stock', 'Visit'];
const SMALL_OBJECTS = 1_000;
const AT_ONCE = 64;
const CHANGES = 10;
const ROUNDS = 15;
const RUNS = 20;
const LATENCY_RATIO_MAX = 1.5;
/** The token, then everything else at once. */
const ROUND_TRIPS_MAX = 2;
const OBJECT_BYTES_MAX = 700;
const DEVICE_BYTES_MAX = 3_000;

interface Device {
  readonly user: string;
  readonly client: string;
  readonly bearer: string;
}

/** A fleet and a small installation on servers of their own, measured in turns. */
export async function valkeyFleet(size: FleetSize, say: (line: string) => void): Promise<readonly Row[]> {
  const [large, small] = [await open(), await open()];
  try {
    const { objectBytes, deviceBytes } = await prepare(large, size, say);
    await prepare(small, { objects: SMALL_OBJECTS, partitions: 1, devices: 1 }, () => undefined);
    const sizeText = `${count(size.objects)} objects, ${count(size.partitions)} partitions, ${count(size.devices)} devices`;
    say(`measuring pulls with ${sizeText}`);
    return [
      bytesRow(`Valkey: an object among ${sizeText}, bytes of memory`, objectBytes, OBJECT_BYTES_MAX),
      bytesRow(`Valkey: a device among ${sizeText}, bytes of memory`, deviceBytes, DEVICE_BYTES_MAX),
      await latencyRow('without news', sizeText, [noNews(small), noNews(large)]),
      await latencyRow(`of ${CHANGES} changes`, sizeText, [withNews(small), withNews(large)]),
      await roundTripsRow(large),
    ];
  } finally {
    await large.close();
    await small.close();
  }
}

interface Installation {
  readonly server: ValkeyServer;
  readonly store: Store;
  readonly tidemark: Tidemark;
  readonly devices: Device[];
  close(): Promise<void>;
}

async function open(): Promise<Installation> {
  const server = await startValkey({ settings: { appendonly: 'no' } });
  const store = await openValkeyStore({ address: server.address, answerMs: 60_000 });
  const close = async () => {
    await store.close();
    await server.remove();
  };
  return { server, store, tidemark: tidemarkOn(store), devices: [], close };
}

async function prepare(
  { server, tidemark, devices }: Installation,
  size: FleetSize,
  say: (line: string) => void,
): Promise<{ readonly objectBytes: number; readonly deviceBytes: number }> {
  await tidemark.sources.declare({ name: SOURCE });
  for (const name of SHARED) {
    await tidemark.sources.declare({ name, partition_type: 'app' });
    await tidemark.objects.fastInsert({ source: name, objects: objectsFrom(0, 10) });
  }
  say(`${count(size.partitions)} users`);
  await inTurns(size.partitions, async (index) => void (await tidemark.users.ensure(userOf(index))));
  const bare = await memoryOf(server);
  say(`${count(size.objects)} objects`);
  const each = Math.ceil(size.objects / size.partitions);
  await inTurns(size.partitions, async (index) => {
    await tidemark.objects.fastInsert({
      source: SOURCE,
      user_id: userOf(index),
      objects: objectsFrom(index * each, each),
    });
  });
  const filled = await memoryOf(server);
  say(`${count(size.devices)} devices, each with a token and at rest`);
  await inTurns(size.devices, async (index) => {
    devices[index] = await settled(tidemark, userOf(index % size.partitions));
  });
  const settledBytes = (await memoryOf(server)) - filled;
  return { objectBytes: (filled - bare) / (each * size.partitions), deviceBytes: settledBytes / size.devices };
}

/** A device that is registered, signed in and has caught up with its user's source. */
async function settled(tidemark: Tidemark, user: string): Promise<Device> {
  const { client_id: client } = await tidemark.clients.register(user, {});
  const { token: bearer } = await tidemark.tokens.issue({ user, client, scopes: ['device'], expiresAtMs: null });
  const device = { user, client, bearer };
  const first = await pullAll(tidemark, device, new Map([[SOURCE, null]]));
  // What a device has is noted when it presents the token it was given.
  await pullAll(tidemark, device, first);
  return device;
}

type Tokens = ReadonlyMap<string, string | null>;

async function pullAll(tidemark: Tidemark, { user, client }: Device, tokens: Tokens): Promise<Tokens> {
  let held = tokens;
  for (;;) {
    const { pages, noted } = await tidemark.devices.pull({ user, client }, { sources: held });
    await noted;
    const given = pages.map(({ source, page }) => [source, 'token' in page ? page.token : null] as const);
    held = new Map(given);
    if (pages.every(({ page }) => !('more' in page) || !page.more)) return held;
  }
}

/** As a request does it: who is it, then the pull. */
async function request(tidemark: Tidemark, { user, client, bearer }: Device, tokens: Tokens): Promise<void> {
  if ((await tidemark.tokens.bearers.check(bearer, Date.now())) === null) throw new Error('the token is not known');
  await tidemark.devices.pull({ user, client }, { sources: tokens });
}

const FIVE = new Map<string, string | null>([SOURCE, ...SHARED].map((name) => [name, null]));

/** A pull of five sources by one device after the other, each of which has everything. */
function noNews({ tidemark, devices }: Installation): () => Promise<void> {
  const held = new Map<Device, Tokens>();
  let turn = 0;
  return async () => {
    const device = devices[(turn++ * 7_919) % Math.min(devices.length, RUNS)] as Device;
    const tokens = held.get(device) ?? (await pullAll(tidemark, device, FIVE));
    held.set(device, tokens);
    await request(tidemark, device, tokens);
  };
}

/** The same pull by a device that lacks the last ten changes of its user. */
function withNews({ tidemark, devices }: Installation): () => Promise<void> {
  const [device] = devices as [Device];
  let tokens: Tokens | null = null;
  return async () => {
    if (tokens === null) {
      tokens = await pullAll(tidemark, device, FIVE);
      const objects = Object.fromEntries(Array.from({ length: CHANGES }, (_, index) => [idOf(index), { changed: 1 }]));
      await tidemark.objects.push({ source: SOURCE, user_id: device.user, objects });
    }
    await request(tidemark, device, tokens);
  };
}

async function latencyRow(what: string, sizeText: string, ways: readonly (() => Promise<void>)[]): Promise<Row> {
  const { medianMs } = await compare(ways, { count: ROUNDS, runs: RUNS });
  const [smallMs = 0, largeMs = 0] = medianMs;
  return {
    name: `Valkey: pull of 5 sources ${what}, ${sizeText}, ms`,
    measured: largeMs.toFixed(2),
    against: `${smallMs.toFixed(2)} with ${count(SMALL_OBJECTS)} objects of one device`,
    ratio: largeMs / smallMs,
    bound: { atMost: LATENCY_RATIO_MAX },
  };
}

async function roundTripsRow({ store, devices }: Installation): Promise<Row> {
  const counter = countRoundTrips(store);
  const tidemark = tidemarkOn(counter.store);
  const [device] = devices as [Device];
  const tokens = await pullAll(tidemark, device, FIVE);
  await request(tidemark, device, tokens);
  const rounds: number[] = [];
  let calls = 0;
  for (let run = 0; run < RUNS; run++) {
    // What is noted behind an answer belongs to no pull.
    await new Promise((resolve) => setTimeout(resolve, 5));
    counter.take();
    await request(tidemark, device, tokens);
    const taken = counter.take();
    rounds.push(taken.roundTrips);
    calls = taken.calls;
  }
  const roundTrips = Math.min(...rounds);
  return {
    name: 'Valkey: pull of 5 sources without news, round trips to the store',
    measured: `${roundTrips}, ${calls} commands`,
    against: `${ROUND_TRIPS_MAX} allowed`,
    ratio: roundTrips / ROUND_TRIPS_MAX,
    bound: { atMost: 1 },
  };
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

async function inTurns(total: number, work: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < total) await work(next++);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, total) }, worker));
}

function userOf(index: number): string {
  return `user ${index}`;
}

function count(value: number): string {
  return value.toLocaleString('en');
}

async function memoryOf(server: ValkeyServer): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(String(await server.call('INFO', 'memory')))?.[1]);
}
