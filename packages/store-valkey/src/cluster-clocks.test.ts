import type { Change, PartitionKey } from '@tidemark/core';
import { startValkeyCluster, type ValkeyCluster } from '@tidemark/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { readAddress } from './address.ts';
import { Layout } from './layout.ts';
import { Link } from './link.ts';
import { openValkeyStore } from './open-valkey-store.ts';
import { admitScript } from './scripts/admission.ts';
import { sweepScript } from './scripts/registry.ts';
import type { Script } from './scripts/script.ts';
import { ValkeyStore } from './valkey-store.ts';
import type { Argument, Reply } from './wire.ts';

const ANN = { kind: 'user', key: ['ann'] } as const;
const ORDERS: PartitionKey = { source: 'Order', user: 'ann' };
const SHARED: PartitionKey = { source: 'Order', user: null };
const MARK = { client: 'c1', epoch: 'e', seq: 1, base: 1, start: null, seenAtMs: 1 };
const HOUR_US = 3_600_000_000;
const put = (id: string): Change => ({ id, record: id, checksum: 1 });

let cluster: ValkeyCluster;
let stores = 0;

beforeAll(async () => {
  cluster = await startValkeyCluster({ appendonly: 'no' });
});

afterAll(() => cluster.remove());

/** The link as it would be if the clock of the registry's node were ahead by so much. Counts the scripts that are run. */
function withRegistryAhead(link: Link, byUs: number): { link: Link; runs: string[] } {
  const runs: string[] = [];
  const shift = (script: Script, reply: Reply): Reply => {
    runs.push(script.name);
    const tellsMoment = (script === admitScript || script === sweepScript) && Array.isArray(reply) && reply.length > 2;
    if (!tellsMoment) return reply;
    return reply.map((part, index) => (index === 2 ? Buffer.from(String(Number(part) + byUs)) : part));
  };
  const skewed = new Proxy(link, {
    get(target, name) {
      const own = Reflect.get(target, name) as unknown;
      if (typeof own !== 'function') return own;
      if (name !== 'run' && name !== 'write') return own.bind(target);
      return async (script: Script, keys: readonly string[], args: readonly Argument[]) =>
        shift(script, await target[name](script, keys, args));
    },
  });
  return { link: skewed, runs };
}

async function openSkewed(byUs: number) {
  const prefix = `clocks ${++stores}:`;
  const plain = await openValkeyStore({ address: cluster.address, prefix, answerMs: 30_000 });
  const address = readAddress(cluster.address);
  if (address === null) throw new Error('the kit gave no address');
  const own = await Link.open({ address, answerMs: 30_000 });
  const { link, runs } = withRegistryAhead(own, byUs);
  const ground = { link, engine: plain.engine, release: () => own.close() };
  const store = new ValkeyStore(ground, new Layout(prefix), { trimStepMax: 100, opening: { as: 'server' } });
  onTestFinished(async () => {
    await store.close();
    await plain.close();
  });
  return { store, runs };
}

it.each([2 * HOUR_US, -2 * HOUR_US, 48 * HOUR_US])(
  '[VALKEY-28] a cluster of which one clock differs by %d µs is written to, and erases in a bounded number of steps',
  async (byUs) => {
    const { store, runs } = await openSkewed(byUs);
    await store.writeEntries({ writes: [{ ...ANN, value: 'v' }], guards: [] });
    for (const partition of [ORDERS, SHARED]) {
      const result = await store.commit({ partition, changes: [put('1')], guards: [] });
      expect(result).toMatchObject({ status: 'committed', state: { size: 1 } });
      await store.noteTidemark(partition, MARK, []);
    }
    runs.length = 0;
    const erase = { users: ['ann'], clients: ['c1'] };
    const erased = await store.writeEntries({ writes: [{ ...ANN, value: null }], guards: [], erase });
    expect(erased).toEqual({ status: 'written' });
    expect(runs.length).toBeLessThan(20);
    expect(await store.partition(ORDERS)).toMatchObject({ size: 0 });
    expect(await store.listTidemarks(SHARED, { limit: 10 })).toEqual([]);
    await store.writeEntries({ writes: [{ ...ANN, value: 'new' }], guards: [] });
    const again = await store.commit({ partition: ORDERS, changes: [put('2')], guards: [] });
    expect(again).toMatchObject({ status: 'committed', state: { head: 1, size: 1 } });
  },
);

it('[VALKEY-28] a place fenced by an erasure that the registry has lost is written to again', async () => {
  const { store } = await openSkewed(0);
  const link = await Link.open({ address: readAddress(cluster.address) as never, answerMs: 30_000 });
  onTestFinished(() => link.close());
  const layout = new Layout(`clocks ${stores}:`);
  const [fence = ''] = layout.place({ kind: 'user', source: 'Order', user: 'ann' }).some(['fence']);
  const ahead = String(Date.now() * 1_000 + HOUR_US);
  await link.command('SET', fence, ahead);
  const result = await store.commit({ partition: ORDERS, changes: [put('1')], guards: [] });
  expect(result).toMatchObject({ status: 'committed', state: { size: 1 } });
  // What is erased from now on has a version behind the fence, so that it is not taken for done.
  await store.writeEntries({ writes: [], guards: [], erase: { users: ['ann'] } });
  expect(await store.partition(ORDERS)).toMatchObject({ size: 0 });
});
