import type { Store } from '@tidemark/core';
import { sharedPartition } from '@tidemark/core';
import { openValkeyStore } from '@tidemark/store-valkey';
import { startValkey, type ValkeyServer } from '@tidemark/testing';
import { Redis } from 'ioredis';
import { objectsFrom, SOURCE, tidemarkOn } from '../fixture.ts';
import { compare, median } from '../measure.ts';
import type { Row } from '../row.ts';

const BATCH = 1_000;
const ROUNDS = 40;
/** A round more for warming up. */
const BATCHES = ROUNDS + 1;
/** The bounds of a page. */
const FIRST_SYNC = { tombstonesAfter: Number.MAX_SAFE_INTEGER, entriesMax: 5_000, unitsMax: 2_000_000 };
const FIRST_SYNCS = 5;
const FIRST_SYNC_RATIO_MAX = 4;
const DEVICES = 5_000;
const OBJECT_BYTES_RATIO_MAX = 3;
const DEVICE_BYTES_MAX = 700;

/** The engine on Valkey or Redis, on a server of its own that keeps nothing on disk: the disk is the server's matter. */
export async function valkey(): Promise<readonly Row[]> {
  const server = await startValkey({ settings: { appendonly: 'no' } });
  const store = await openValkeyStore({ address: server.address, answerMs: 60_000 });
  try {
    const tidemark = tidemarkOn(store);
    await tidemark.sources.declare({ name: SOURCE, partition_type: 'app' });
    const before = await memoryOf(server);
    const batches = Array.from({ length: BATCHES }, (_, batch) => objectsFrom(batch * BATCH, BATCH));
    let turn = 0;
    const push = () => tidemark.objects.push({ source: SOURCE, objects: batches[turn++] });
    const row = await pushed(server, push, batches);
    const objectBytes = ((await memoryOf(server)) - before) / (BATCHES * BATCH);
    return [
      row,
      await firstSync(server, store),
      bytesPerObject(objectBytes, batches),
      await bytesPerDevice(server, store),
    ];
  } finally {
    await store.close();
    await server.remove();
  }
}

/** From the parsed request to the store, against the same bytes under the same ids, ready as text, in one pipeline. */
async function pushed(
  server: ValkeyServer,
  push: () => Promise<unknown>,
  batches: readonly Record<string, Record<string, unknown>>[],
): Promise<Row> {
  const raw = new Redis(server.port, { protocol: 2 });
  const texts = batches.map((batch) =>
    Object.entries(batch).map(([id, object]) => [id, JSON.stringify(object)] as const),
  );
  let turn = 0;
  let seq = 0;
  const bare = async () => {
    const pipeline = raw.pipeline();
    for (const [id, text] of texts[turn++] ?? []) pipeline.hset('raw:records', id, text).zadd('raw:live', ++seq, id);
    await pipeline.exec();
  };
  const { medianMs } = await compare([push, bare], { count: ROUNDS, runs: 1 });
  const [oursMs = 0, bareMs = 0] = medianMs;
  // Gone before memory is looked at.
  await raw.del('raw:records', 'raw:live');
  raw.disconnect();
  const perSecond = (ms: number) => Math.round((BATCH / ms) * 1_000).toLocaleString('en');
  return {
    name: 'Valkey: batches of 1,000, objects/s',
    measured: perSecond(oursMs),
    against: `${perSecond(bareMs)} by a bare pipeline`,
    ratio: bareMs / oursMs,
    bound: { atLeast: 0.5 },
  };
}

/** CPU of the Valkey server, which all Tidemark servers share, against the plain commands that fetch the same records. */
async function firstSync(server: ValkeyServer, store: Store): Promise<Row> {
  const partition = sharedPartition(SOURCE);
  const raw = new Redis(server.port, { protocol: 2 });
  const objects = BATCHES * BATCH;
  const text = JSON.stringify(objectsFrom(0, 1)).slice(1, -1);
  for (let seq = 1; seq <= objects; seq += BATCH) {
    const seqs = Array.from({ length: BATCH }, (_, index) => seq + index);
    await raw.zadd('raw:live', ...seqs.flatMap((each) => [each, `raw ${each}`]));
    await raw.hset('raw:records', ...seqs.flatMap((each) => [`raw ${each}`, text]));
  }
  const ours = async () => {
    let slice = await store.readJoined(partition, { ...FIRST_SYNC, after: 0 });
    while (slice.upTo < slice.state.head)
      slice = await store.readJoined(partition, { ...FIRST_SYNC, after: slice.upTo });
  };
  const bare = async () => {
    for (let after = 0; after < objects; after += BATCH) {
      const ids = await raw.zrangebyscore('raw:live', `(${after}`, '+inf', 'LIMIT', 0, BATCH);
      await raw.hmget('raw:records', ...ids);
    }
  };
  const costs: { readonly oursMs: number; readonly bareMs: number }[] = [];
  for (let round = 0; round < FIRST_SYNCS; round++) {
    costs.push({ oursMs: await cpuOf(server, ours), bareMs: await cpuOf(server, bare) });
  }
  await raw.del('raw:records', 'raw:live');
  raw.disconnect();
  const [oursMs, bareMs] = [median(costs.map((cost) => cost.oursMs)), median(costs.map((cost) => cost.bareMs))];
  return {
    name: `Valkey: first sync of ${objects.toLocaleString('en')} objects, CPU of the Valkey server`,
    measured: `${oursMs.toFixed(0)} ms`,
    against: `${bareMs.toFixed(0)} ms by plain ZRANGEBYSCORE and HMGET`,
    ratio: oursMs / bareMs,
    bound: { atMost: FIRST_SYNC_RATIO_MAX },
  };
}

async function cpuOf(server: ValkeyServer, work: () => Promise<unknown>): Promise<number> {
  const before = await cpuMs(server);
  await work();
  return (await cpuMs(server)) - before;
}

async function cpuMs(server: ValkeyServer): Promise<number> {
  const info = String(await server.call('INFO', 'cpu'));
  const seconds = (name: string) => Number(new RegExp(`${name}:([\\d.]+)`).exec(info)?.[1]);
  return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1_000;
}

function bytesPerObject(bytes: number, batches: readonly Record<string, Record<string, unknown>>[]): Row {
  const [first = {}] = batches;
  const payload = Object.entries(first).reduce(
    (sum, [id, object]) => sum + id.length + JSON.stringify(object).length,
    0,
  );
  const each = payload / BATCH;
  return {
    name: 'Valkey: an object, bytes of memory',
    measured: String(Math.round(bytes)),
    against: `${Math.round(each)} of id and JSON text`,
    ratio: bytes / each,
    bound: { atMost: OBJECT_BYTES_RATIO_MAX },
  };
}

async function bytesPerDevice(server: ValkeyServer, store: Store): Promise<Row> {
  const partition = sharedPartition(SOURCE);
  const { epoch, head } = await store.partition(partition);
  const before = await memoryOf(server);
  for (let device = 0; device < DEVICES; device++) {
    const client = `device-${String(device).padStart(15, '0')}`;
    const mark = { client, epoch, seq: head, base: head, start: null, seenAtMs: Date.now() };
    await store.noteTidemark(partition, mark, []);
  }
  const bytes = ((await memoryOf(server)) - before) / DEVICES;
  return {
    name: 'Valkey: a device at rest, bytes of memory per source',
    measured: String(Math.round(bytes)),
    against: `${DEVICE_BYTES_MAX} allowed`,
    ratio: bytes / DEVICE_BYTES_MAX,
    bound: { atMost: 1 },
  };
}

async function memoryOf(server: ValkeyServer): Promise<number> {
  return Number(/used_memory:(\d+)/.exec(String(await server.call('INFO', 'memory')))?.[1]);
}
