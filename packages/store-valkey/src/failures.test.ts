import type { Change, EntryBatch, PartitionKey, Store } from '@tidemark/core';
import { userPartition } from '@tidemark/core';
import { refusalOf, startValkey, type ValkeyServer } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import type { ConnectionEvent } from './connection-events.ts';
import { UnusableServer } from './failure.ts';
import { openValkeyStore, openValkeyStores, type ValkeyOptions } from './open-store.ts';

const ORDERS: PartitionKey = userPartition('Order', 'ann');
const put = (id: string, text = id): Change => ({ id, record: text, checksum: 1 });

async function start(settings: Readonly<Record<string, string>> = {}): Promise<ValkeyServer> {
  const server = await startValkey({ settings });
  onTestFinished(() => server.remove());
  return server;
}

/** Opens a store, and lets a test wait until it has reconnected. */
async function open(server: ValkeyServer, options: Partial<ValkeyOptions> = {}) {
  const waiting: (() => void)[] = [];
  const onEvent = ({ kind }: ConnectionEvent) => {
    if (kind === 'back') for (const tell of waiting.splice(0)) tell();
  };
  const store = await openValkeyStore({ address: server.address, onEvent, ...options });
  onTestFinished(() => store.close());
  return { store, ready: () => new Promise<void>((resolve) => waiting.push(resolve)) };
}

function commit(store: Store, ...changes: readonly Change[]) {
  return store.commit({ partition: ORDERS, changes, guards: [] });
}

async function recordsOf(store: Store): Promise<readonly string[]> {
  const range = { after: 0, tombstonesAfter: 0, entriesMax: 1_000, unitsMax: 1_000_000 };
  return (await store.readJournal(ORDERS, range)).records;
}

describe('a server that is away', () => {
  it('[VALKEY-1] a server that is down causes store_unavailable, and has every acknowledged write when it is back', async () => {
    const server = await start();
    const { store, ready } = await open(server);
    await commit(store, put('1'), put('2'));
    const before = await store.partition(ORDERS);
    await server.kill();
    expect(await refusalOf(commit(store, put('3')))).toBe('store_unavailable');
    const refusal: unknown = await store.partition(ORDERS).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ code: 'store_unavailable', retryAfterS: 1 });
    // The refusal does not contain the address of the server.
    expect(String(refusal)).not.toMatch(/127|\d{4}/);
    const again = ready();
    await server.restart();
    await again;
    expect(await store.partition(ORDERS)).toEqual(before);
    expect(await recordsOf(store)).toEqual(['1', '2']);
    expect(await commit(store, put('3'))).toMatchObject({ status: 'committed', state: { head: 3, size: 3 } });
  });

  it('[LOG-20] a lost connection is reported once, and its return with the number of calls that failed', async () => {
    const server = await start();
    const events: ConnectionEvent[] = [];
    const { store } = await open(server, { onEvent: (event) => events.push(event) });
    await server.kill();
    await expect.poll(() => events.length).toBe(2);
    for (let call = 0; call < 3; call++) await refusalOf(store.partition(ORDERS));
    await server.restart();
    await expect.poll(() => events.length).toBe(3);
    const lost = { kind: 'lost', reason: 'the connection was closed' };
    expect(events).toEqual([{ kind: 'ready' }, lost, { kind: 'back', failures: 3 }]);
  });

  it('[VALKEY-1] calls to a server that hangs fail after a timeout, and succeed when it replies again', async () => {
    const server = await start();
    const { store } = await open(server);
    await commit(store, put('1'));
    process.kill(server.pid, 'SIGSTOP');
    const calls = [commit(store, put('2'), put('3')), store.partition(ORDERS), store.epoch(), recordsOf(store)];
    const codes = await Promise.all(calls.map(refusalOf));
    expect(new Set(codes)).toEqual(new Set(['store_unavailable']));
    process.kill(server.pid, 'SIGCONT');
    // The server may or may not have run the commands, but none of them halfway.
    expect([['1'], ['1', '2', '3']]).toContainEqual(await recordsOf(store));
    expect(await commit(store, put('4'))).toMatchObject({ status: 'committed' });
  });

  it('[VALKEY-1] after an operator closes a connection only the calls on their way fail', async () => {
    const server = await start();
    const { store, ready } = await open(server);
    const again = ready();
    await server.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    await again;
    expect(await commit(store, put('1'))).toMatchObject({ status: 'committed', state: { head: 1 } });
  });

  it('[VALKEY-1] a server that loads its data causes store_unavailable', async () => {
    const server = await start({ 'key-load-delay': '500', 'loading-process-events-interval-bytes': '1024' });
    const { store, ready } = await open(server);
    for (let user = 0; user < 100; user++) {
      const partition = userPartition('Order', `${user}`);
      await store.commit({ partition, changes: [put('1')], guards: [] });
    }
    await server.kill();
    const again = ready();
    const restarted = server.restart();
    expect(await refusalOf(store.epoch())).toBe('store_unavailable');
    await Promise.all([restarted, again]);
    expect((await store.partitions({ limit: 1_000 })).length).toBe(100);
  });

  it('[VALKEY-2] the error of a server that cannot be opened names its address without the password', async () => {
    const server = await start();
    await server.kill();
    const address = server.address.replace('//', '//:secret@');
    const opening = openValkeyStore({ address });
    await expect(opening).rejects.toThrow(UnusableServer);
    await expect(opening).rejects.toThrow(`valkey://***@127.0.0.1:${server.port} cannot be used`);
    await expect(openValkeyStore({ address: 'valkey://a,b' })).rejects.toThrow(/is no address of a store/);
  });

  it('[VALKEY-2] a server with another login is refused at start in one sentence without a password', async () => {
    const server = await start();
    const refused = `the store at ${server.address} cannot be used: the server refuses valkey.login and valkey.password`;
    const unknown = openValkeyStore({ address: server.address, login: 'nobody', password: 'barnacle' });
    await expect(unknown).rejects.toThrow(
      new UnusableServer(`${refused}: WRONGPASS invalid username-password pair or user is disabled`),
    );
    await server.call('CONFIG', 'SET', 'requirepass', 'barnacle');
    const missing = openValkeyStore({ address: server.address });
    await expect(missing).rejects.toThrow(new UnusableServer(`${refused}: NOAUTH Authentication required`));
  });
});

describe('stores that share a connection', () => {
  it('[VALKEY-23] stores on one connection are separate, and the last one to close ends it', async () => {
    const server = await start();
    const [one, two] = await openValkeyStores({ address: server.address }, ['one:', 'two:']);
    if (one === undefined || two === undefined) throw new Error('two stores were asked for');
    await commit(one, put('1'));
    expect([await recordsOf(one), await recordsOf(two)]).toEqual([['1'], []]);
    expect(await clientsOf(server)).toBe(1);
    for (let times = 0; times < 2; times++) await one.close();
    expect(await refusalOf(commit(one, put('2')))).toBe('store_unavailable');
    await commit(two, put('2'));
    expect(await recordsOf(two)).toEqual(['2']);
    await two.close();
    while ((await clientsOf(server)) > 0);
  });
});

/** Counts the connections with the name of a store. */
async function clientsOf(server: ValkeyServer): Promise<number> {
  return String(await server.call('CLIENT', 'LIST')).split('name=tidemark-').length - 1;
}

describe('a server without memory', () => {
  it('[VALKEY-3] a server without memory refuses a whole write with store_full and goes on reading', async () => {
    const server = await start();
    const { store } = await open(server);
    await commit(store, put('1'));
    const used = /used_memory:(\d+)/.exec(String(await server.call('INFO', 'memory')))?.[1] ?? '0';
    await server.call('CONFIG', 'SET', 'maxmemory', used);
    const large = 'x'.repeat(100_000);
    expect(await refusalOf(commit(store, put('2', large), put('3', large)))).toBe('store_full');
    const entry = { kind: 'user', key: ['ann'], value: large } as const;
    expect(await refusalOf(store.writeEntries({ writes: [entry], guards: [] }))).toBe('store_full');
    expect(await recordsOf(store)).toEqual(['1']);
    expect(await store.readEntry(entry)).toBeNull();
    await server.call('CONFIG', 'SET', 'maxmemory', 0);
    expect(await commit(store, put('2', large))).toMatchObject({ status: 'committed', state: { head: 2, size: 2 } });
  });
});

describe('deleting on a server without memory', () => {
  it('[VALKEY-30] on a server without memory users, sources, clients, tombstones and everything can be deleted, and tokens issued', async () => {
    const server = await start();
    const { store } = await open(server);
    const partitions = ['ann', 'bob', 'cid'].map((user) => userPartition('Order', user));
    const change = { id: '1', record: '"1":{"a":1}', checksum: 1 };
    for (const partition of partitions) await store.commit({ partition, changes: [change], guards: [] });
    const gone = { id: '1', record: null, checksum: 0 };
    await store.commit({ partition: userPartition('Order', 'cid'), changes: [gone], guards: [] });
    const row = { metric: 'm', atS: 60, count: 1, sum: 1, min: 1, max: 1 };
    await store.addStats([row]);
    await server.call('CONFIG', 'SET', 'maxmemory', 1);
    const erase = (what: NonNullable<EntryBatch['erase']>) =>
      store.writeEntries({ writes: [{ kind: 'user', key: ['x'], value: null }], guards: [], erase: what });
    const written = { status: 'written' };
    const token = { kind: 'token', key: ['hash'], value: 'small' } as const;
    expect(await store.writeEntries({ writes: [token], guards: [] })).toEqual(written);
    expect(await store.writeEntries({ writes: [{ ...token, value: null }], guards: [] })).toEqual(written);
    expect(await erase({ users: ['ann'], clients: ['c1'] })).toEqual(written);
    expect(await store.size(userPartition('Order', 'ann'))).toBe(0);
    expect(await store.trim(userPartition('Order', 'cid'), 2)).toMatchObject({ floor: 2 });
    expect(await store.trimStats(120)).toBe(1);
    expect(await erase({ sources: ['Order'] })).toEqual(written);
    expect(await store.size(userPartition('Order', 'bob'))).toBe(0);
    expect(await refusalOf(store.commit({ partition: ORDERS, changes: [change], guards: [] }))).toBe('store_full');
    expect(await store.reset([])).not.toBe('');
  });
});

describe('a store that lost something', () => {
  it('[VALKEY-4] a store that was emptied begins a new epoch', async () => {
    const server = await start();
    const { store } = await open(server);
    await commit(store, put('1'));
    const before = await store.partition(ORDERS);
    await server.call('FLUSHALL');
    const after = await store.partition(ORDERS);
    expect(after).toEqual({ epoch: await store.epoch(), head: 0, floor: 0, size: 0, checksum: 0 });
    expect(before.epoch.startsWith(after.epoch)).toBe(false);
    await commit(store, put('1'));
    expect((await store.partition(ORDERS)).epoch).not.toBe(before.epoch);
  });

  it('[VALKEY-4] a store that was emptied gives no version twice', async () => {
    const server = await start();
    const { store } = await open(server);
    const write = async () => {
      await store.writeEntries({ writes: [{ kind: 'user', key: ['ann'], value: 'v' }], guards: [] });
      return (await store.readEntry({ kind: 'user', key: ['ann'] }))?.version ?? 0;
    };
    const first = await write();
    await server.call('FLUSHALL');
    expect(await write()).toBeGreaterThan(first);
  });

  it('[VALKEY-5] a partition that lost writes says from its first commit on up to which seq older tokens are valid', async () => {
    const server = await start({ appendonly: 'no' });
    const { store, ready } = await open(server);
    await commit(store, put('1'), put('2'));
    await server.call('SAVE');
    const kept = await store.partition(ORDERS);
    await commit(store, put('3'), put('4'), put('5'));
    await server.kill();
    const again = ready();
    await server.restart();
    await again;
    // Three acknowledged writes are lost. Until the next write, devices that have them are ahead of the head.
    expect(await store.partition(ORDERS)).toEqual(kept);
    const other = [put('a'), put('b'), put('c'), put('d')];
    const result = await commit(store, ...other);
    const state = await store.partition(ORDERS);
    expect(result).toEqual({ status: 'committed', state });
    expect(state.epoch).not.toBe(kept.epoch);
    expect([state.head, state.earlier]).toEqual([6, [{ epoch: kept.epoch, upTo: 2 }]]);
  });

  it('[VALKEY-5] a partition remembers a bounded number of earlier epochs, the latest ones', async () => {
    const server = await start({ appendonly: 'no' });
    const { store, ready } = await open(server);
    const epochs: string[] = [];
    for (let life = 0; life < 12; life++) {
      const result = await commit(store, put(`${life}`));
      if (result.status === 'committed') epochs.push(result.state.epoch);
      // The writes since the last but one restart are lost.
      if (life !== 10) await server.call('SAVE');
      await server.kill();
      const again = ready();
      await server.restart();
      await again;
    }
    const { earlier } = await store.partition(ORDERS);
    expect(earlier).toHaveLength(8);
    expect(epochs.slice(2, 10).reverse()).toEqual(earlier?.map(({ epoch }) => epoch));
    expect(earlier?.map(({ upTo }) => upTo)).toEqual([10, 9, 8, 7, 6, 5, 4, 3]);
  });
});

describe('durability of a server', () => {
  it('[VALKEY-6] the store describes how durable it is, and warns where acknowledged writes could be lost or evicted', async () => {
    const durable = (await open(await start({ maxmemory: '1gb' }))).store.engine;
    expect(durable).toMatchObject({ name: 'valkey', durability: 'durable', warnings: [] });
    expect(durable.details).toMatchObject({
      appendonly: 'true',
      appendfsync: 'always',
      maxmemory_policy: 'noeviction',
    });
    const settings = { appendfsync: 'everysec', 'maxmemory-policy': 'allkeys-lru' };
    const buffered = (await open(await start(settings))).store.engine;
    expect([buffered.durability, buffered.warnings]).toEqual([
      'buffered',
      [
        expect.stringMatching(/appendfsync is not always.*the last second/),
        expect.stringMatching(/maxmemory-policy is allkeys-lru/),
        expect.stringMatching(/maxmemory is not set/),
      ],
    ]);
    const careless = (await open(await start({ appendonly: 'no' }))).store.engine;
    expect(careless.warnings).toContainEqual(expect.stringMatching(/appendonly no/));
  });

  it('[VALKEY-6] a store that is not durable is refused where durability is required', async () => {
    const server = await start({ appendfsync: 'everysec' });
    const opening = openValkeyStore({ address: server.address, isDurabilityRequired: true });
    await expect(opening).rejects.toThrow(/durability is required, but writes are acknowledged before/);
    await server.call('CONFIG', 'SET', 'appendfsync', 'always');
    const store = await openValkeyStore({ address: server.address, isDurabilityRequired: true });
    await store.close();
  });

  it('[VALKEY-7] a write waits for replicas where that is requested', async () => {
    const settings = { appendonly: 'no', 'repl-diskless-sync-delay': '0' };
    const [primary, replica] = await Promise.all([start(settings), start(settings)]);
    const { store } = await open(primary, { confirmReplicas: 1 });
    expect(await refusalOf(commit(store, put('1')))).toBe('store_unavailable');
    await replica.call('REPLICAOF', '127.0.0.1', primary.port);
    await untilReplicated(primary);
    expect(await commit(store, put('2'))).toMatchObject({ status: 'committed' });
    await replica.call('REPLICAOF', 'NO', 'ONE');
    const { store: promoted } = await open(replica);
    expect(await recordsOf(promoted)).toEqual(['1', '2']);
  });
});

/** Polls the primary until its replica has caught up. */
async function untilReplicated(primary: ValkeyServer): Promise<void> {
  for (let look = 0; look < 10_000; look++) {
    if (/state=online/.test(String(await primary.call('INFO', 'replication')))) return;
  }
  throw new Error('the replica did not catch up');
}
