import type { Change, DocumentKey, PartitionKey, Store } from '@tidemark/core';
import { userPartition } from '@tidemark/core';
import { refusalOf, settableClock, startValkey, TcpProxy, until, type ValkeyServer } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openValkeyStore, type ValkeyOptions, type ValkeyStore } from './open-store.ts';

const ORDERS: PartitionKey = userPartition('Order', 'ann');
const NOTES: DocumentKey = { scope: { kind: 'shared', source: 'Order' }, name: 'notes' };
const ANN = { kind: 'user', key: ['ann'] } as const;

/** A server, a store that reaches it through a proxy, and one that reaches it directly. */
async function start(options: Partial<ValkeyOptions> = {}) {
  const server = await startValkey({ settings: { appendonly: 'no' } });
  const proxy = await TcpProxy.open(server.port);
  const open = (port: number, more: Partial<ValkeyOptions> = {}) =>
    openValkeyStore({ address: `valkey://127.0.0.1:${port}`, ...more });
  const [store, other] = [await open(proxy.port, options), await open(server.port)];
  onTestFinished(async () => {
    await Promise.all([store.close(), other.close()]);
    await proxy.close();
    await server.remove();
  });
  return { server, proxy, store, other };
}

function commit(store: Store, text: string) {
  const changes: readonly Change[] = [{ id: '1', record: text, checksum: 1 }];
  return store.commit({ partition: ORDERS, changes, guards: [] });
}

/** Writes of every kind without expectations: the last one to arrive wins. */
function writeAll(store: ValkeyStore, text: string): readonly Promise<unknown>[] {
  const jobs = store.jobs({ clock: settableClock() });
  return [
    commit(store, text),
    store.writeDocument({ key: NOTES, type: 'text', replace: true, parts: new Map([['', text]]), guards: [] }),
    store.writeEntries({ writes: [{ ...ANN, value: text }], guards: [] }),
    jobs.enqueue(text, { kind: text, payload: text, attemptsMax: 1 }),
    store.addStats([{ metric: text, atS: 60, count: 1, sum: 1, min: 1, max: 1 }]),
  ];
}

async function contentOf(store: ValkeyStore) {
  const range = { after: 0, tombstonesAfter: 0, entriesMax: 1_000, unitsMax: 1_000_000 };
  const jobs = store.jobs({ clock: settableClock() });
  return {
    records: (await store.readJournal(ORDERS, range)).records,
    document: (await store.readDocument(NOTES))?.parts.get(''),
    entry: (await store.readEntry(ANN))?.value,
    queues: await jobs.queues(),
    stats: await store.statNames(),
  };
}

function contentWith(text: string) {
  return { records: [text], document: text, entry: text, queues: [text], stats: [text] };
}

/** Repeats a call until it is not refused. */
function served(what: string, call: () => Promise<unknown>): Promise<void> {
  return until(what, () =>
    call().then(
      () => true,
      () => false,
    ),
  );
}

async function connectionsOf(server: ValkeyServer): Promise<number> {
  return String(await server.call('CLIENT', 'LIST')).split('name=tidemark-').length - 1;
}

describe('a connection that stays open and delivers nothing', () => {
  it('[VALKEY-34] a connection that delivers no byte during some calls in a row is replaced by a new one', async () => {
    const { proxy, store } = await start({ answerMs: 300 });
    await served('the store serves', () => commit(store, 'before'));
    proxy.stall();
    expect(await refusalOf(commit(store, 'during'))).toBe('store_unavailable');
    await served('the store serves again', () => commit(store, 'after'));
    expect((await store.partition(ORDERS)).size).toBe(1);
  });

  it('[VALKEY-34] the connection for writes that replicas confirm is replaced when it is silent', async () => {
    const replica = await startValkey({ settings: { appendonly: 'no', 'repl-diskless-sync-delay': '0' } });
    onTestFinished(() => replica.remove());
    const { server, proxy, store } = await start({ answerMs: 300, confirmReplicas: 1 });
    await replica.call('REPLICAOF', '127.0.0.1', server.port);
    await served('the replica confirms', () => commit(store, 'before'));
    proxy.stall();
    expect(await refusalOf(commit(store, 'during'))).toBe('store_unavailable');
    await served('writes are confirmed again', () => commit(store, 'after'));
  });
});

describe('a write that was refused', () => {
  it('[VALKEY-35] a write that a stalled connection delivers after its caller was told that it failed is not applied', async () => {
    const { proxy, store, other } = await start();
    await Promise.all(writeAll(store, 'first'));
    const resume = proxy.stall();
    const codes = await Promise.all(writeAll(store, 'refused').map(refusalOf));
    expect(new Set(codes)).toEqual(new Set(['store_unavailable']));
    await Promise.all(writeAll(other, 'second'));
    resume();
    // This call follows the late writes on the same connection.
    expect((await contentOf(store)).records).toEqual(['second']);
    const { queues, stats, ...rest } = await contentOf(other);
    expect([rest, queues, stats]).toEqual([
      { records: ['second'], document: 'second', entry: 'second' },
      ['first', 'second'],
      ['first', 'second'],
    ]);
  });

  it('[VALKEY-35] a write whose connection broke is refused only when it can no longer be applied', async () => {
    const { server, proxy, store, other } = await start();
    const before = await connectionsOf(server);
    const resume = proxy.stall();
    const refused = Promise.all(writeAll(store, 'refused').map(refusalOf));
    await until('the writes are on their way', async () => proxy.heldChunks > 0);
    proxy.hangUp();
    expect(new Set(await refused)).toEqual(new Set(['store_unavailable']));
    await Promise.all(writeAll(other, 'second'));
    await served('the store has a new connection', () => store.epoch());
    expect(await connectionsOf(server)).toBe(before + 1);
    resume();
    await until('the server has read the old connection to its end', async () => {
      return (await connectionsOf(server)) === before;
    });
    expect(await contentOf(other)).toEqual(contentWith('second'));
  });
});
