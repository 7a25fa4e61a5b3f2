import { statSync } from 'node:fs';
import { join } from 'node:path';
import { type GroupTokens, groupPartition, type Tidemark } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import { endFixture, newFolder, tidemarkOn } from '../fixture.ts';
import { compare } from '../measure.ts';
import type { Row } from '../row.ts';

const SOURCE = 'Visit';
/** Groups of the users whose devices pull. */
const FEW = 10;
const MANY = 1_000;
/** Groups with data in the small and in the large installation. */
const GROUPS_SMALL = 10;
const GROUPS_LARGE = 100_000;
const PUSHES_AT_ONCE = 1_000;
/** Devices that have data of each of `MANY` groups. */
const DEVICES = 20;
const BYTES_AT_REST_MAX = 200;
const CLIENT_ID_UNITS = 22;

/**
 * What a device in many groups costs when there is no news, against a device in one group, whether a push into a group
 * depends on how many groups there are, and what the store keeps for each device and group.
 */
export async function groups(): Promise<readonly Row[]> {
  const small = await openFixture(GROUPS_SMALL);
  const large = await openFixture(GROUPS_LARGE);
  try {
    return [...(await pulls(large.tidemark)), await pushes(small.tidemark, large.tidemark), await atRest(large)];
  } finally {
    await endFixture(small);
    await endFixture(large);
  }
}

async function openFixture(count: number) {
  const folder = newFolder();
  const store = await openEmbeddedStore({ folder });
  const tidemark = tidemarkOn(store);
  await tidemark.sources.declare({ name: SOURCE, partition_type: 'group' });
  for (let start = 0; start < count; start += PUSHES_AT_ONCE) {
    const numbers = Array.from({ length: Math.min(PUSHES_AT_ONCE, count - start) }, (_, index) => start + index);
    await Promise.all(numbers.map((number) => push(tidemark, number, 'first')));
  }
  return { tidemark, store, folder, objects: count };
}

function groupName(number: number): string {
  return `group-${number}`;
}

function push(tidemark: Tidemark, number: number, value: string): Promise<unknown> {
  return tidemark.objects.push({ source: SOURCE, group: groupName(number), objects: { 1: { value } } });
}

async function pulls(tidemark: Tidemark): Promise<readonly Row[]> {
  const ways = await Promise.all([1, FEW, MANY].map((count) => deviceIn(tidemark, count)));
  const { medianMs } = await compare(ways, { count: 15, runs: 40 });
  const [one = 0, few = 0, many = 0] = medianMs.map((ms) => ms * 1_000);
  const row = (name: string, us: number, atMost: number): Row => ({
    name: `pull without news, device in ${name} groups`,
    measured: `${us.toFixed(0)} µs`,
    against: `${one.toFixed(0)} µs in one group`,
    ratio: us / one,
    bound: { atMost },
  });
  return [row(String(FEW), few, 1.3), row(MANY.toLocaleString('en'), many, 5)];
}

/** Returns the pull of a device that holds all data of so many groups. */
async function deviceIn(tidemark: Tidemark, count: number): Promise<() => Promise<unknown>> {
  const user = await tidemark.users.ensure(`user-${count}`);
  const names = Array.from({ length: count }, (_, number) => groupName(number));
  await tidemark.groups.set(user, names);
  const { client_id: client } = await tidemark.clients.register(user, {});
  const held = new Map<string, string>();
  let asked: GroupTokens = { groups: held, set: null };
  const pull = () => tidemark.devices.pull({ user, client }, { sources: new Map([[SOURCE, asked]]) });
  for (let isBehind = true; isBehind; ) {
    const { pages, grouped, noted } = await pull();
    await noted;
    const { setToken } = grouped[0] ?? {};
    for (const { group, page } of pages) if (group !== null && 'token' in page) held.set(group, page.token);
    isBehind = setToken === undefined;
    if (typeof setToken === 'string') asked = { groups: new Map(), set: setToken };
  }
  if (held.size !== count) throw new Error('the device does not hold every group');
  // What a device has acknowledged is recorded once, and not by the pulls that are measured.
  await (await pull()).noted;
  return pull;
}

async function pushes(small: Tidemark, large: Tidemark): Promise<Row> {
  let edit = 0;
  const into = (tidemark: Tidemark, count: number) => () => push(tidemark, ++edit % count, `edit ${edit}`);
  const ways = [into(small, GROUPS_SMALL), into(large, GROUPS_LARGE)];
  const { medianMs } = await compare(ways, { count: 15, runs: 100 });
  const [few = 0, many = 0] = medianMs;
  return {
    name: `push of 1 object into one of ${GROUPS_LARGE.toLocaleString('en')} groups`,
    measured: `${many.toFixed(2)} ms`,
    against: `${few.toFixed(2)} ms with ${GROUPS_SMALL} groups`,
    ratio: many / few,
    bound: { atMost: 1.3 },
    knownMiss: 'a push probably touches more pages of larger trees; this was not measured',
  };
}

/** The bytes on disk, without free pages, of what devices have acknowledged. */
async function atRest({ store, folder }: Awaited<ReturnType<typeof openFixture>>): Promise<Row> {
  const bytesOf = async (name: string) => {
    const copy = join(folder, name);
    await store.backup(copy);
    return statSync(join(copy, 'store.mdb')).size;
  };
  const before = await bytesOf('before');
  for (let device = 0; device < DEVICES; device++) {
    const client = String(device).padStart(CLIENT_ID_UNITS, '0');
    const marks = Array.from({ length: MANY }, async (_, number) => {
      const partition = groupPartition(SOURCE, groupName(number));
      const { epoch, head } = await store.partition(partition);
      const mark = { client, epoch, seq: head, base: head, start: null, seenAtMs: Date.now() };
      return store.noteTidemark(partition, mark, []);
    });
    await Promise.all(marks);
  }
  const bytes = ((await bytesOf('after')) - before) / (DEVICES * MANY);
  return {
    name: 'at rest for each device and group, bytes on disk',
    measured: bytes.toFixed(0),
    against: `${BYTES_AT_REST_MAX} allowed`,
    ratio: bytes / BYTES_AT_REST_MAX,
    bound: { atMost: 1 },
  };
}
