import type { Change, PartitionKey, Store } from '@tidemark/core';
import { userPartition } from '@tidemark/core';
import { scopeOf } from '@tidemark/core/ports';
import { startValkeyCluster, untilServed, type ValkeyCluster, type ValkeyServer } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { readAddress } from './address.ts';
import { Connection } from './connection.ts';
import { type Scope, scopeMember, sourceMember } from './keys.ts';
import { Layout } from './layout.ts';
import { openValkeyStore } from './open-store.ts';
import { admissionOf } from './scope-access.ts';
import { admitScript, PERMIT } from './scripts/admission.ts';
import { writeDocumentScript } from './scripts/documents.ts';
import { encoderOf, type ValuesOf } from './scripts/script.ts';
import { listOf, textListOf, textOf } from './wire.ts';

const PREFIX = 'tidemark:';
const layout = new Layout(PREFIX);
const put = (id: string): Change => ({ id, record: id, checksum: 1 });

async function start() {
  const cluster = await startValkeyCluster({ appendonly: 'no' });
  // Only the test calls sweep.
  const store = await openValkeyStore({ address: cluster.address, prefix: PREFIX, sweepEveryMs: 3_600_000 });
  const address = readAddress(cluster.address);
  if (address === null) throw new Error('the kit gave no address');
  const connection = await Connection.open({ address, answerMs: 30_000 });
  onTestFinished(async () => {
    await store.close();
    connection.close();
    await cluster.remove();
  });
  await store.sweep();
  return { cluster, store, connection };
}

/** Finds a user whose orders are on another node than the registry. */
async function elsewhere(cluster: ValkeyCluster) {
  const registry = await cluster.ownerOf(layout.registryKey('meta'));
  for (let number = 0; ; number++) {
    const user = `user ${number}`;
    const orders: PartitionKey = userPartition('Order', user);
    const owner = await cluster.ownerOf(layout.scope(scopeOf(orders)).one('state'));
    if (owner !== registry) return { user, orders, owner, registry };
  }
}

const create = (store: Store, user: string) =>
  store.writeEntries({ writes: [{ kind: 'user', key: [user], value: 'v' }], guards: [] });

const erase = (store: Store, user: string) =>
  store.writeEntries({
    ...{ writes: [{ kind: 'user', key: [user], value: null }], guards: [], erase: { users: [user] } },
  });

/** Fails over to a replica that has nothing of what `work` wrote to the primary. */
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
  it('[VALKEY-29] an erasure finds a scope although a failover lost it from the index', async () => {
    const { cluster, store } = await start();
    const { user, orders, registry } = await elsewhere(cluster);
    await create(store, user);
    await losing(cluster, registry, () => store.commit({ partition: orders, changes: [put('1')], guards: [] }));
    expect(await untilServed(() => store.partition(orders))).toMatchObject({ size: 1 });
    await untilServed(() => erase(store, user));
    await create(store, user);
    expect(await store.partition(orders)).toMatchObject({ head: 0, size: 0 });
  });

  it('[VALKEY-29] data that a failover brings back after its erasure is erased again by the next write or sweep', async () => {
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

describe('scopes that the registry does not know', () => {
  const scope: Scope = { kind: 'user', source: 'Order', user: 'ann' };
  const keys = layout.scope(scope);

  async function lose(connection: Connection): Promise<void> {
    await connection.command('ZREM', layout.registryKey('scopes'), scopeMember(scope));
    await connection.command('ZREM', layout.registryKey('scopes_by_source'), sourceMember(scope) ?? '');
    // As if a primary had another replication id.
    await connection.command('HSET', layout.registryKey('meta'), 'audited', 'other', 'settled', 'other');
  }

  async function writeDocument(connection: Connection, permit: ValuesOf<typeof PERMIT>): Promise<string> {
    const values = { name: 'note', type: 'text', replaces: true, expectedVersion: null };
    const args = writeDocumentScript.args({ ...values, keys: ['0'], parts: ['00001x'] });
    const all = [...keys.all(writeDocumentScript.keys), keys.parts('note')];
    const reply = await connection.run(writeDocumentScript, all, [...encoderOf(PERMIT)(permit), ...args]);
    return textOf(listOf(reply)[0]);
  }

  it('[VALKEY-29] a sweep adds a scope to the index again if its owner was not erased', async () => {
    const { store, connection } = await start();
    const partition = userPartition('Order', 'ann');
    await store.commit({ partition, changes: [put('1')], guards: [] });
    await lose(connection);
    expect(await store.partitions({ limit: 10 })).toEqual([]);
    await store.sweep();
    expect(await store.partitions({ limit: 10 })).toEqual([partition]);
    expect(await store.partition(partition)).toMatchObject({ size: 1 });
  });

  it('[VALKEY-29] a sweep empties a lost scope to which a write was admitted before the erasure of its owner', async () => {
    const { store, connection } = await start();
    const args = admitScript.args({ fence: 0, admission: admissionOf({ scope, guards: [] }) });
    const reply = textListOf(await connection.run(admitScript, layout.registry, args));
    const [, version = '', issuedAtUs, epoch = '', lastErasure = ''] = reply;
    await lose(connection);
    await erase(store, 'ann');
    const permit = { version, issuedAtUs: Number(issuedAtUs), epoch, lastErasure };
    expect(await writeDocument(connection, permit)).toBe('written');
    expect(await store.documentNames(scope)).toEqual(['note']);
    // The second audit is due when all permits from before the first have expired.
    await store.sweep();
    expect(await store.documentNames(scope)).toEqual(['note']);
    await connection.command('HSET', layout.registryKey('meta'), 'audited_us', '1');
    await store.sweep();
    expect(await store.documentNames(scope)).toEqual([]);
  });
});
