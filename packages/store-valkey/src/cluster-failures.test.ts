import type { Change, PartitionKey, Store } from '@tidemark/core';
import { scopeOf, userPartition } from '@tidemark/core/ports';
import {
  refusalOf,
  startValkeyCluster,
  until,
  untilServed,
  type ValkeyCluster,
  type ValkeyServer,
} from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';

import { Layout } from './layout.ts';
import { openValkeyStore } from './open-store.ts';

const PREFIX = 'tidemark:';
const layout = new Layout(PREFIX);
const put = (id: string): Change => ({ id, record: id, checksum: 1 });

async function start(settings: Readonly<Record<string, string>> = {}) {
  const cluster = await startValkeyCluster(settings);
  const store = await openValkeyStore({ address: cluster.address, prefix: PREFIX });
  onTestFinished(async () => {
    await store.close();
    await cluster.remove();
  });
  return { cluster, store };
}

function stateKeyOf(partition: PartitionKey): string {
  return layout.scope(scopeOf(partition)).one('state');
}

/** Finds a partition on another node than the registry, and its primary. */
async function elsewhere(cluster: ValkeyCluster): Promise<{ partition: PartitionKey; owner: ValkeyServer }> {
  const registry = await cluster.ownerOf(layout.registryKey('meta'));
  for (let number = 0; ; number++) {
    const partition = userPartition('Order', `user ${number}`);
    const owner = await cluster.ownerOf(stateKeyOf(partition));
    if (owner !== registry) return { partition, owner };
  }
}

async function commit(store: Store, partition: PartitionKey, ...changes: readonly Change[]) {
  const result = await store.commit({ partition, changes, guards: [] });
  if (result.status !== 'committed') throw new Error(result.status);
  return result.state;
}

async function recordsOf(store: Store, partition: PartitionKey): Promise<readonly string[]> {
  const range = { after: 0, tombstonesAfter: 0, entriesMax: 1_000, unitsMax: 1_000_000 };
  return (await store.readJournal(partition, range)).records;
}

describe('a cluster', () => {
  it('[VALKEY-2] a cluster is refused when the address names a single server, or the login is wrong', async () => {
    const { cluster } = await start({ appendonly: 'no' });
    const opening = openValkeyStore({ address: cluster.servers[0]?.address ?? '' });
    await expect(opening).rejects.toThrow(/cannot be used: it is part of a cluster/);
    const unknown = openValkeyStore({ address: cluster.address, login: 'nobody', password: 'barnacle' });
    await expect(unknown).rejects.toThrow(/: the server refuses valkey.login and valkey.password: WRONGPASS [^.]+$/);
  });

  it('[VALKEY-12] a cluster without one node refuses the data of that node and serves it again when the node is back', async () => {
    const { cluster, store } = await start({ 'cluster-require-full-coverage': 'no' });
    const { partition, owner } = await elsewhere(cluster);
    await commit(store, partition, put('1'));
    await owner.kill();
    expect(await refusalOf(commit(store, partition, put('2')))).toBe('store_unavailable');
    expect(await refusalOf(store.partition(partition))).toBe('store_unavailable');
    expect(await store.readEntry({ kind: 'user', key: ['nobody'] })).toBeNull();
    await owner.restart();
    expect(await untilServed(() => recordsOf(store, partition))).toEqual(['1']);
    expect(await untilServed(() => commit(store, partition, put('3')))).toMatchObject({ head: 2, size: 2 });
  });

  it('[VALKEY-13] tokens stay valid when slots move to another node', async () => {
    const { cluster, store } = await start({ appendonly: 'no' });
    const { partition, owner } = await elsewhere(cluster);
    const before = await commit(store, partition, put('1'), put('2'));
    const target = cluster.servers.find((server) => server !== owner) ?? owner;
    const [ownerId, targetId] = [await owner.call('CLUSTER', 'MYID'), await target.call('CLUSTER', 'MYID')];
    const slot = Number(await owner.call('CLUSTER', 'KEYSLOT', stateKeyOf(partition)));
    await target.call('CLUSTER', 'SETSLOT', slot, 'IMPORTING', String(ownerId));
    await owner.call('CLUSTER', 'SETSLOT', slot, 'MIGRATING', String(targetId));
    const keys = (await owner.call('CLUSTER', 'GETKEYSINSLOT', slot, 100)) as string[];
    const [first = '', ...rest] = keys;
    await owner.call('MIGRATE', '127.0.0.1', target.port, first, 0, 5_000);
    // The keys of the scope are on two nodes now, so no script can use all of them.
    expect(await refusalOf(commit(store, partition, put('3')))).toBe('store_unavailable');
    await owner.call('MIGRATE', '127.0.0.1', target.port, '', 0, 5_000, 'KEYS', ...rest);
    for (const server of cluster.servers) await server.call('CLUSTER', 'SETSLOT', slot, 'NODE', String(targetId));
    const after = await untilServed(() => commit(store, partition, put('3')));
    expect([after.head, after.earlier]).toEqual([3, [{ epoch: before.epoch, upTo: 2 }]]);
    expect(await recordsOf(store, partition)).toEqual(['1', '2', '3']);
  });

  it('[VALKEY-13] after a failover tokens stay valid up to what the replica had', async () => {
    const { cluster, store } = await start({ appendonly: 'no' });
    const { partition, owner } = await elsewhere(cluster);
    const before = await commit(store, partition, put('1'), put('2'));
    const replica = await cluster.addReplica(owner);
    await owner.kill();
    await replica.call('CLUSTER', 'FAILOVER', 'TAKEOVER');
    expect(await untilServed(() => recordsOf(store, partition))).toEqual(['1', '2']);
    const after = await untilServed(() => commit(store, partition, put('3')));
    expect([after.head, after.earlier]).toEqual([3, [{ epoch: before.epoch, upTo: 2 }]]);
  });

  it('[VALKEY-13] the store follows a primary that dies or hangs to its replica', async () => {
    const { cluster, store } = await start({ appendonly: 'no' });
    const { partition, owner } = await elsewhere(cluster);
    const replica = await cluster.addReplica(owner);
    await commit(store, partition, put('1'));
    await untilCopied(owner, replica);
    process.kill(owner.pid, 'SIGSTOP');
    expect(await refusalOf(commit(store, partition, put('lost')))).toBe('store_unavailable');
    expect(await untilServed(() => commit(store, partition, put('2')))).toMatchObject({ head: 2 });
    process.kill(owner.pid, 'SIGCONT');
    // The same in the other direction.
    await untilReplica(owner, replica);
    await untilCopied(replica, owner);
    await replica.kill();
    expect(await refusalOf(commit(store, partition, put('lost')))).toBe('store_unavailable');
    expect(await untilServed(() => commit(store, partition, put('3')))).toMatchObject({ head: 3 });
    expect(await recordsOf(store, partition)).toEqual(['1', '2', '3']);
  });
});

/** Replication is asynchronous: without this, writes acknowledged just before a crash may be lost. */
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

/** Waits until a primary that came back late has become a replica of the promoted one. */
async function untilReplica(server: ValkeyServer, primary: ValkeyServer): Promise<void> {
  for (let look = 0; look < 1_000; look++) {
    if (/state=online/.test(String(await primary.call('INFO', 'replication')))) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error(`the server at ${server.port} did not become a replica`);
}

it('[VALKEY-33] opening a store is refused while the cluster is down, and succeeds when it is back', async () => {
  const cluster = await startValkeyCluster();
  onTestFinished(cluster.remove);
  const [first, , last] = cluster.servers;
  if (first === undefined || last === undefined) throw new Error('the cluster has too few nodes');
  const isDownFor = async (server: ValkeyServer) =>
    String(await server.call('CLUSTER', 'INFO')).includes('cluster_state:fail');
  await last.kill();
  await until('the cluster is down', () => isDownFor(first));
  await expect(openValkeyStore({ address: first.address.replace('valkey:', 'valkey+cluster:') })).rejects.toThrow(
    'cannot be used',
  );
  await last.restart();
  // Each server learns of it by itself, and the store reads from all of them.
  await until('the cluster is back', async () => !(await Promise.all(cluster.servers.map(isDownFor))).includes(true));
  const store = await openValkeyStore({ address: cluster.address });
  await store.close();
});
