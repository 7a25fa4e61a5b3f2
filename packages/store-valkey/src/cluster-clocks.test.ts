import type { Change, PartitionKey } from '@tidemark/core';
import { sharedPartition, userPartition } from '@tidemark/core';
import { startValkeyCluster, type ValkeyCluster } from '@tidemark/testing';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { readAddress } from './address.ts';
import { Connection } from './connection.ts';
import { Layout } from './layout.ts';
import { composeStore, openValkeyStore } from './open-store.ts';
import { admitScript } from './scripts/admission.ts';
import { nextScopesScript } from './scripts/erase.ts';
import type { RunnableScript } from './scripts/script.ts';
import type { Argument, Reply } from './wire.ts';

const ANN = { kind: 'user', key: ['ann'] } as const;
const ORDERS: PartitionKey = userPartition('Order', 'ann');
const SHARED: PartitionKey = sharedPartition('Order');
const MARK = { client: 'c1', epoch: 'e', seq: 1, base: 1, start: null, seenAtMs: 1 };
const HOUR_US = 3_600_000_000;
const put = (id: string): Change => ({ id, record: id, checksum: 1 });

let cluster: ValkeyCluster;
let stores = 0;

beforeAll(async () => {
  cluster = await startValkeyCluster({ appendonly: 'no' });
});

afterAll(() => cluster.remove());

/** Returns the connection as if the clock of the registry's node were ahead, and the names of the scripts that run. */
function withRegistryAhead(connection: Connection, byUs: number): { connection: Connection; runs: string[] } {
  const runs: string[] = [];
  const shift = (script: RunnableScript, reply: Reply): Reply => {
    runs.push(script.name);
    const hasTime = (script === admitScript || script === nextScopesScript) && Array.isArray(reply) && reply.length > 2;
    if (!hasTime) return reply;
    return reply.map((part, index) => (index === 2 ? Buffer.from(String(Number(part) + byUs)) : part));
  };
  const skewed = new Proxy(connection, {
    get(target, name) {
      const own = Reflect.get(target, name) as unknown;
      if (typeof own !== 'function') return own;
      if (name !== 'run' && name !== 'write') return own.bind(target);
      return async (script: RunnableScript, keys: readonly string[], args: readonly Argument[]) =>
        shift(script, await target[name](script, keys, args));
    },
  });
  return { connection: skewed, runs };
}

async function openSkewed(byUs: number) {
  const prefix = `clocks ${++stores}:`;
  const plain = await openValkeyStore({ address: cluster.address, prefix, answerMs: 30_000 });
  const address = readAddress(cluster.address);
  if (address === null) throw new Error('the kit gave no address');
  const own = await Connection.open({ address, answerMs: 30_000 });
  const { connection, runs } = withRegistryAhead(own, byUs);
  const onClose = () => own.close();
  const keyspace = { connection, layout: new Layout(prefix) };
  const store = composeStore(keyspace, { engine: plain.engine, onClose, trimStepMax: 100, sweepEveryMs: 3_600_000 });
  onTestFinished(async () => {
    await store.close();
    await plain.close();
  });
  return { store, runs };
}

it.each([2 * HOUR_US, -2 * HOUR_US, 48 * HOUR_US])(
  '[VALKEY-28] a cluster with one clock off by %d µs accepts writes and erases in a bounded number of steps',
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

it('[VALKEY-28] a scope accepts writes again after the registry lost the erasure that fenced it', async () => {
  const { store } = await openSkewed(0);
  const connection = await Connection.open({ address: readAddress(cluster.address) as never, answerMs: 30_000 });
  onTestFinished(() => connection.close());
  const layout = new Layout(`clocks ${stores}:`);
  const [fence = ''] = layout.scope({ kind: 'user', source: 'Order', user: 'ann' }).all(['fence']);
  const ahead = String(Date.now() * 1_000 + HOUR_US);
  await connection.command('SET', fence, ahead);
  const result = await store.commit({ partition: ORDERS, changes: [put('1')], guards: [] });
  expect(result).toMatchObject({ status: 'committed', state: { size: 1 } });
  // The next erasure must have a version above the fence, or the scope would take it for done.
  await store.writeEntries({ writes: [], guards: [], erase: { users: ['ann'] } });
  expect(await store.partition(ORDERS)).toMatchObject({ size: 0 });
});
