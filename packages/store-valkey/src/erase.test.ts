import type { Change, PartitionKey, Store } from '@tidemark/core';
import { sharedPartition, userPartition } from '@tidemark/core';
import { scopeOf } from '@tidemark/core/ports';
import { startValkey, startValkeyCluster } from '@tidemark/testing';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { readAddress } from './address.ts';
import { Connection } from './connection.ts';
import { EVERYTHING, erasureOf, keyOf, membersFrom, scopeMember, sourceMember, tidemarkRange } from './keys.ts';
import { Layout } from './layout.ts';
import { openValkeyStore } from './open-store.ts';
import { admissionOf } from './scope-access.ts';
import { admitScript, PERMIT } from './scripts/admission.ts';
import { noteTidemarkScript } from './scripts/devices.ts';
import { documentNamesScript, writeDocumentScript } from './scripts/documents.ts';
import { eraseScopeScript, nextScopesScript, removeScopesScript } from './scripts/erase.ts';
import { writeEntriesScript } from './scripts/registry.ts';
import { READ_IN_CLUSTER } from './scripts/scope.ts';
import { encoderOf, type ValuesOf } from './scripts/script.ts';
import { tidemarkMember } from './tidemarks.ts';
import { listOf, textListOf, textOf } from './wire.ts';

const ANN = { kind: 'user', key: ['ann'] } as const;
const ORDERS: PartitionKey = userPartition('Order', 'ann');
const SHARED: PartitionKey = sharedPartition('Order');
const MARK = { client: 'c1', epoch: 'e', seq: 1, base: 1, start: null, seenAtMs: 1 };
const NEVER_WRITTEN = { head: 0, floor: 0, size: 0, checksum: 0 };
const scope = scopeOf(ORDERS);
const put = (id: string): Change => ({ id, record: id, checksum: 1 });

type Permit = ValuesOf<typeof PERMIT>;

describe.each(['one node', 'a cluster'])('erasing on %s', (where) => {
  let servers: { readonly address: string; remove(): Promise<void> };
  let stores = 0;

  beforeAll(async () => {
    const settings = { appendonly: 'no' };
    servers = where === 'one node' ? await startValkey({ settings }) : await startValkeyCluster(settings);
  });

  afterAll(() => servers.remove());

  /** Opens a store with a user who has data, and a connection of its own to the same keys. */
  async function openWithData() {
    const prefix = `${where} ${++stores}:`;
    const store = await openValkeyStore({ address: servers.address, prefix, answerMs: 30_000 });
    const address = readAddress(servers.address);
    if (address === null) throw new Error('the kit gave no address');
    const connection = await Connection.open({ address, answerMs: 30_000 });
    onTestFinished(async () => {
      await store.close();
      connection.close();
    });
    await store.writeEntries({ writes: [{ ...ANN, value: 'v' }], guards: [] });
    for (const partition of [ORDERS, SHARED]) {
      await store.commit({ partition, changes: [put('1'), put('2')], guards: [] });
      await store.noteTidemark(partition, { ...MARK, client: 'c1' }, []);
    }
    return { store, connection, layout: new Layout(prefix) };
  }

  /** Does what a server does that dies after the first of the two steps of an erasure. */
  async function beginErasure(connection: Connection, layout: Layout, erasure: string): Promise<void> {
    const writes = [{ field: keyOf('user', 'ann'), expect: '', value: '' }];
    const args = writeEntriesScript.args({ guards: [], blockedBy: [], writes, erasures: [erasure] });
    await connection.run(writeEntriesScript, layout.registry, args);
  }

  async function expectErased(store: Store): Promise<void> {
    expect(await store.partition(ORDERS)).toEqual({ epoch: await store.epoch(), ...NEVER_WRITTEN });
    expect(await store.partitions({ limit: 10 })).toEqual([SHARED]);
    expect(await store.readTidemark(ORDERS, 'c1')).toBeNull();
  }

  it('[VALKEY-8] an interrupted erasure is finished before its name is used again', async () => {
    const { store, connection, layout } = await openWithData();
    await beginErasure(connection, layout, erasureOf('user', 'ann'));
    expect(await store.partitions({ limit: 10 })).toEqual([SHARED]);
    // On one node a scope reads as empty as soon as its erasure has begun.
    if (where === 'one node') await expectErased(store);
    expect(await store.writeEntries({ writes: [{ ...ANN, value: 'new' }], guards: [] })).toEqual({ status: 'written' });
    await expectErased(store);
  });

  it('[VALKEY-8] an interrupted erasure is finished before a write to one of its scopes', async () => {
    const { store, connection, layout } = await openWithData();
    await beginErasure(connection, layout, erasureOf('user', 'ann'));
    const result = await store.commit({ partition: ORDERS, changes: [put('new')], guards: [] });
    expect(result).toMatchObject({ status: 'committed', state: { head: 1, size: 1 } });
    expect(await store.readTidemark(ORDERS, 'c1')).toBeNull();
  });

  it('[VALKEY-8] the periodic sweep finishes an interrupted erasure', async () => {
    const { store, connection, layout } = await openWithData();
    await beginErasure(connection, layout, erasureOf('user', 'ann'));
    await store.sweep();
    await expectErased(store);
    expect(await connection.command('EXISTS', layout.registryKey('erasures'))).toBe(0);
    expect(await connection.command('EXISTS', layout.scope(scope).one('state'))).toBe(0);
    // The fence expires by itself.
    expect(await connection.command('TTL', layout.scope(scope).one('fence'))).toBeGreaterThan(0);
  });

  it('[VALKEY-8] the next write finishes an interrupted reset', async () => {
    const { store, connection, layout } = await openWithData();
    await beginErasure(connection, layout, EVERYTHING);
    expect(await store.partitions({ limit: 10 })).toEqual([]);
    await store.writeEntries({ writes: [{ ...ANN, value: 'new' }], guards: [] });
    for (const key of [ORDERS, SHARED]) expect(await store.partition(key)).toMatchObject(NEVER_WRITTEN);
  });

  it('[VALKEY-9] a server that repeats a finished erasure erases nothing that was written since', async () => {
    const { store, connection, layout } = await openWithData();
    const erasure = erasureOf('user', 'ann');
    await beginErasure(connection, layout, erasure);
    const ranges = { ...membersFrom(keyOf('user', 'ann')), byClient: false, clientMin: '', clientMax: '' };
    const next = nextScopesScript.args({ erasure, index: 'scopes', ...ranges });
    const reply = listOf(await connection.run(nextScopesScript, layout.registry, next));
    const [version, readAtUs] = [textOf(reply[1]), Number(textOf(reply[2]))];
    await store.sweep();
    await store.commit({ partition: ORDERS, changes: [put('new')], guards: [] });
    const erase = eraseScopeScript.args({ version, readAtUs });
    await connection.run(eraseScopeScript, layout.scope(scope).all(eraseScopeScript.keys), erase);
    const members = { scopes: [scopeMember(scope)], bySource: [sourceMember(scope) ?? ''], byClient: [] };
    const remove = removeScopesScript.args({ erasure, version, ...members });
    await connection.run(removeScopesScript, layout.registry, remove);
    expect(await store.partition(ORDERS)).toMatchObject({ head: 1, size: 1 });
    expect(await store.partitions({ limit: 10 })).toContainEqual(ORDERS);
  });

  it('[VALKEY-9] a scope refuses an erasure that was read too long ago', async () => {
    const { store, connection, layout } = await openWithData();
    const args = eraseScopeScript.args({ version: '9007199254740991', readAtUs: 1 });
    const keys = layout.scope(scope).all(eraseScopeScript.keys);
    expect(textOf(listOf(await connection.run(eraseScopeScript, keys, args))[0])).toBe('stale');
    expect(await store.partition(ORDERS)).toMatchObject({ size: 2 });
  });

  it('[VALKEY-10] a scope from before the registry was lost reads as empty and is written anew', async () => {
    const { store, connection, layout } = await openWithData();
    const before = await store.partition(ORDERS);
    for (const key of layout.registry) await connection.command('DEL', key);
    // Without this a cluster notices at the next write, or within seconds.
    await store.sweep();
    const after = await store.partition(ORDERS);
    expect(after).toEqual({ epoch: await store.epoch(), ...NEVER_WRITTEN });
    expect(before.epoch.startsWith(after.epoch)).toBe(false);
    expect(await store.readTidemark(ORDERS, 'c1')).toBeNull();
    const result = await store.commit({ partition: ORDERS, changes: [put('new')], guards: [] });
    expect(result).toMatchObject({ status: 'committed', state: { head: 1, size: 1 } });
    expect(await store.readTidemark(ORDERS, 'c1')).toBeNull();
  });

  if (where !== 'a cluster') return;

  describe('permits', () => {
    /** Gets a permit from the registry, to be used later. */
    async function permitFor(connection: Connection, layout: Layout, client: string | null = null): Promise<Permit> {
      const args = admitScript.args({ fence: 0, admission: admissionOf({ scope, guards: [ANN], client }) });
      const reply = textListOf(await connection.run(admitScript, layout.registry, args));
      const [kind, version = '', issuedAtUs, epoch = '', lastErasure = ''] = reply;
      expect(kind).toBe('admitted');
      return { version, issuedAtUs: Number(issuedAtUs), epoch, lastErasure };
    }

    async function writeDocument(connection: Connection, layout: Layout, permit: Permit): Promise<string> {
      const keys = layout.scope(scope);
      const values = { name: 'note', type: 'text', replaces: true, expectedVersion: null };
      const args = writeDocumentScript.args({ ...values, keys: ['0'], parts: ['00001x'] });
      const all = [...keys.all(writeDocumentScript.keys), keys.parts('note')];
      const reply = await connection.run(writeDocumentScript, all, [...encoderOf(PERMIT)(permit), ...args]);
      return textOf(listOf(reply)[0]);
    }

    it('[VALKEY-11] a scope refuses a permit from before its erasure, however late the write comes', async () => {
      const { store, connection, layout } = await openWithData();
      const permit = await permitFor(connection, layout);
      await store.writeEntries({ writes: [{ ...ANN, value: null }], guards: [], erase: { users: ['ann'] } });
      expect(await writeDocument(connection, layout, permit)).toBe('stale');
      await store.writeEntries({ writes: [{ ...ANN, value: 'another' }], guards: [] });
      expect(await writeDocument(connection, layout, permit)).toBe('stale');
      expect(await writeDocument(connection, layout, await permitFor(connection, layout))).toBe('written');
      const reading = encoderOf(READ_IN_CLUSTER)({ epoch: await store.epoch(), isConfirmed: true });
      const keys = layout.scope(scope).all(documentNamesScript.keys);
      expect(listOf(await connection.run(documentNamesScript, keys, reading))).toHaveLength(2);
    });

    it('[VALKEY-11] a scope refuses a permit for a client that was erased, and accepts those for others', async () => {
      const { store, connection, layout } = await openWithData();
      const keys = layout.scope(scope);
      const note = async (client: string, permit: Permit) => {
        const member = tidemarkMember({ ...MARK, client });
        const args = noteTidemarkScript.args({ ...tidemarkRange(client), expect: 'any', member });
        const all = [...keys.all(noteTidemarkScript.keys), keys.clientFence(client)];
        const reply = await connection.run(noteTidemarkScript, all, [...encoderOf(PERMIT)(permit), ...args]);
        return textOf(listOf(reply)[0]);
      };
      const [mine, other] = [await permitFor(connection, layout, 'c1'), await permitFor(connection, layout, 'c2')];
      await store.writeEntries({ writes: [], guards: [], erase: { clients: ['c1'] } });
      expect([await note('c1', mine), await note('c2', other)]).toEqual(['stale', 'written']);
      expect((await store.listTidemarks(ORDERS, { limit: 10 })).map(({ client }) => client)).toEqual(['c2']);
    });

    it('[VALKEY-11] a permit expires', async () => {
      const { connection, layout } = await openWithData();
      const permit = await permitFor(connection, layout);
      expect(await writeDocument(connection, layout, { ...permit, issuedAtUs: 1 })).toBe('stale');
    });
  });
});
