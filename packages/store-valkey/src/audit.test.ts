import type { Change, PartitionKey, Store } from '@tidemark/core';
import { startValkeyCluster, untilServed, type ValkeyCluster, type ValkeyServer } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAddress } from './address.ts';
import { doomsOf, guardArgs, memberArgs } from './guards.ts';
import { type Place, placeMember, placeOf, sourceMember } from './keys.ts';
import { Layout } from './layout.ts';
import { Link } from './link.ts';
import { listArgs } from './lists.ts';
import { openValkeyStore } from './open-valkey-store.ts';
import { listOf, textOf } from './reply.ts';
import { admitScript } from './scripts/admission.ts';
import { writeDocumentScript } from './scripts/documents.ts';

const PREFIX = 'tidemark:';
const layout = new Layout(PREFIX);
const put = (id: string): Change => ({ id, record: id, checksum: 1 });

async function start() {
  const cluster = await startValkeyCluster({ appendonly: 'no' });
  // It is swept when the test says so.
  const store = await openValkeyStore({ address: cluster.address, prefix: PREFIX, sweepEveryMs: 3_600_000 });
  const address = readAddress(cluster.address);
  if (address === null) throw new Error('the kit gave no address');
  const link = await Link.open({ address, answerMs: 30_000 });
  onTestFinished(async () => {
    await store.close();
    link.close();
    await cluster.remove();
  });
  await store.sweep();
  return { cluster, store, link };
}

/** A user whose orders do not lie where the registry does. */
async function elsewhere(cluster: ValkeyCluster) {
  const registry = await cluster.ownerOf(layout.registryKey('facts'));
  for (let number = 0; ; number++) {
    const user = `user ${number}`;
    const orders: PartitionKey = { source: 'Order', user };
    const owner = await cluster.ownerOf(layout.place(placeOf(orders)).some(['state'])[0] ?? '');
    if (owner !== registry) return { user, orders, owner, registry };
  }
}

const create = (store: Store, user: string) =>
  store.writeEntries({ writes: [{ kind: 'user', key: [user], value: 'v' }], guards: [] });

const erase = (store: Store, user: string) =>
  store.writeEntries({
    ...{ writes: [{ kind: 'user', key: [user], value: null }], guards: [], erase: { users: [user] } },
  });

/** A primary whose replica gets nothing of what is written from now on, and takes its place at the end. */
async function losing(cluster: ValkeyCluster, primary: ValkeyServer, work: () => Promise<unknown>): Promise<void> {
  const replica = await cluster.addReplica(primary);
  await untilCopied(primary, replica);
  process.kill(replica.pid, 'SIGSTOP');
  await primary.call('CLIENT', 'KILL', 'TYPE', 'replica');
  await work();
  await primary.kill();
  process.kill(replica.pid, 'SIGCONT');
  await replica.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
}

async function untilCopied(primary: ValkeyServer, replica: ValkeyServer): Promise<void> {
  const offset = async (server: ValkeyServer, name: string) =>
    new RegExp(`${name}:(\\d+)`).exec(String(await server.call('INFO', 'replication')))?.[1];
  for (let look = 0; look < 1_000; look++) {
    const wanted = await offset(primary, 'master_repl_offset');
    if (wanted !== undefined && wanted === (await offset(replica, 'slave_repl_offset'))) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the server at ${replica.port} did not catch up`);
}

describe('a failover in a cluster', () => {
  it('[VALKEY-29] a failover that loses the ownerTouched of a place does not make an erasure miss it', async () => {
    const { cluster, store } = await start();
    const { user, orders, registry } = await elsewhere(cluster);
    await create(store, user);
    await losing(cluster, registry, () => store.commit({ partition: orders, changes: [put('1')], guards: [] }));
    expect(await untilServed(() => store.partition(orders))).toMatchObject({ size: 1 });
    await untilServed(() => erase(store, user));
    await create(store, user);
    expect(await store.partition(orders)).toMatchObject({ head: 0, size: 0 });
  });

  it('[VALKEY-29] a failover that brings back what was erased is made good before anything is written there, or soon', async () => {
    const { cluster, store } = await start();
    const { user, orders, owner } = await elsewhere(cluster);
    const returned: PartitionKey = { ...orders };
    await create(store, user);
    await store.commit({ partition: orders, changes: [put('1')], guards: [] });
    await losing(cluster, owner, async () => {
      await erase(store, user);
      await create(store, user);
    });
    expect(await untilServed(() => store.partition(returned))).toMatchObject({ size: 1 });
    await untilServed(() => store.sweep());
    expect(await store.partition(orders)).toMatchObject({ head: 0, size: 0 });
    const result = await store.commit({ partition: orders, changes: [put('2')], guards: [] });
    expect(result).toMatchObject({ status: 'committed', state: { head: 1, size: 1 } });
  });
});

describe('places that the registry does not know', () => {
  const place: Place = { kind: 'user', source: 'Order', user: 'ann' };
  const keys = layout.place(place);

  async function lose(link: Link): Promise<void> {
    await link.command('ZREM', layout.registryKey('places'), placeMember(place));
    await link.command('ZREM', layout.registryKey('sources'), sourceMember(place) ?? '');
    // As if some primary had another history.
    await link.command('HSET', layout.registryKey('facts'), 'audited', 'other', 'settled', 'other');
  }

  /** Writes a document as one would that was admitted a while ago. */
  async function writeLate(link: Link, ticket: readonly string[]): Promise<string> {
    const args = [...ticket, 'note', 'text', '1', '', ...listArgs(['0']), ...listArgs(['00001x'])];
    const all = [...keys.some(writeDocumentScript.keys), keys.partsOf('note')];
    return textOf(listOf(await link.run(writeDocumentScript, all, args))[0]);
  }

  it('[VALKEY-29] lost places are enrolled again when their owner was not erased', async () => {
    const { store, link } = await start();
    const partition = { source: 'Order', user: 'ann' };
    await store.commit({ partition, changes: [put('1')], guards: [] });
    await lose(link);
    expect(await store.partitions({ limit: 10 })).toEqual([]);
    await store.sweep();
    expect(await store.partitions({ limit: 10 })).toEqual([partition]);
    expect(await store.partition(partition)).toMatchObject({ size: 1 });
  });

  it('[VALKEY-29] lost places are emptied when what was admitted before an erasure arrives there after it', async () => {
    const { store, link } = await start();
    const args = ['0', ...guardArgs([]), ...listArgs(doomsOf(place)), ...memberArgs(place, null)];
    const [, ...ticket] = listOf(await link.run(admitScript, layout.registry, args)).map((word) => textOf(word));
    await lose(link);
    await erase(store, 'ann');
    expect(await writeLate(link, ticket)).toBe('written');
    expect(await store.documentNames(place)).toEqual(['note']);
    // The second audit is due when no ticket from before the first is good any more.
    await store.sweep();
    expect(await store.documentNames(place)).toEqual(['note']);
    await link.command('HSET', layout.registryKey('facts'), 'audited_us', '1');
    await store.sweep();
    expect(await store.documentNames(place)).toEqual([]);
  });
});
