import { Rng, seededRandom } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { Replica } from '../replica/replica.ts';
import { WriteQueue } from '../replica/write-queue.ts';
import { LocalState, type Transaction } from '../state/local-state.ts';
import type { SourceRow, UploadRow } from '../state/rows.ts';
import { memoryStore } from '../stores/memory-store.ts';
import type { SyncedObject, ViewChange } from '../view/source-view.ts';
import type { QueryOptions } from './query-options.ts';
import { DeviceQueries } from './source-queries.ts';

const ROW: SourceRow = {
  description: {
    name: 'Order',
    partition_type: 'user',
    sync_type: 'object',
    poll_interval: 0,
    references: {},
  } as never,
  ...{ seen: null, token: null, staging: null, syncedAtMs: null, heals: 0 },
};

/** A replica with one source, whose first sync is made part by part. */
function openReplica() {
  const replica = new Replica(() => undefined, memoryStore());
  const writes = new WriteQueue(replica);
  const queries = new DeviceQueries(replica, null);
  const storePart = (firstSync: 'hidden' | 'complete', write: (tx: Transaction) => void) =>
    replica.transact((tx) => {
      const staging = firstSync === 'hidden' ? { token: null, pages: 0, firstSync } : null;
      tx.put('sources', ['', 'Order'], { ...ROW, staging });
      write(tx);
    });
  const create = (id: string, attributes: { readonly n: number }) => {
    const row: UploadRow = {
      ...{ source: 'Order', op: 'create', id, attributes, seen: null, state: 'waiting', settled: null, madeAtMs: 0 },
      order: writes.takeOrder(),
    };
    return writes.write([[`op-${row.order}`, row]], () => undefined);
  };
  return { replica, queries, orders: queries.of('Order'), storePart, create };
}

const put = (tx: Transaction, id: string, n: number) => tx.put('objects', ['Order', id], { n, even: n % 2 === 0 });

const idsOf = (rows: readonly SyncedObject[]) => rows.map(({ id }) => id);

const OPTIONS: readonly QueryOptions[] = [
  {},
  { orderBy: { n: 'desc' }, limit: 5 },
  { where: { even: true }, orderBy: 'n', offset: 3, limit: 4 },
  { where: { n: { gte: 300, lt: 700 } }, orderBy: ['even', { n: 'desc' }] },
  { where: { n: -1 } },
];

describe('queries during a first sync', () => {
  it('[SDK-23] objects are prepared as they arrive, and nothing is left to do for them when they are shown', async () => {
    const { orders, storePart } = openReplica();
    const calls: string[] = [];
    const note = (name: string) => (changes: readonly ViewChange[]) => calls.push(`${name} ${changes.length}`);
    orders.view.follow({ change: note('change'), prepare: note('prepare'), reveal: () => calls.push('reveal') });
    orders.view.subscribe(() => calls.push('listener'));
    const part = (from: number) => (tx: Transaction) => {
      for (let n = from; n < from + 200; n++) put(tx, `o${n}`, n);
    };
    await storePart('hidden', part(0));
    await storePart('hidden', part(200));
    expect(orders.view.list()).toEqual([]);
    await storePart('complete', part(400));
    expect(calls).toEqual(['prepare 200', 'prepare 200', 'prepare 200', 'reveal', 'listener']);
    expect(orders.view.list()).toHaveLength(600);
  });

  it('[QUERY-6] every followed result shows only changes of the app, then equals a fresh evaluation and is told once', async () => {
    for (let seed = 0; seed < 30; seed++) {
      const rng = new Rng(seededRandom(seed));
      const { orders, storePart, create } = openReplica();
      const calls = OPTIONS.map(() => 0);
      const followed = OPTIONS.map((options, index) => {
        const query = orders.query(options);
        return { query, follow: () => query.subscribe(() => (calls[index] = (calls[index] ?? 0) + 1)) };
      });
      const stops: ((() => void) | undefined)[] = [];
      if (rng.below(2) === 0) orders.index('n');
      const parts = 1 + rng.below(5);
      for (let number = 0; number < parts; number++) {
        // Queries and indexes come and go in the middle of it.
        for (const [index, { follow }] of followed.entries()) {
          if (rng.below(3) > 0) continue;
          const stop = stops[index];
          stops[index] = stop === undefined ? follow() : undefined;
          stop?.();
        }
        if (rng.below(4) === 0) orders.index('even');
        if (rng.below(3) === 0) await create(`mine-${number}`, { n: -1 });
        const before = orders.view.list();
        await storePart('hidden', (tx) => {
          for (let count = 0; count < 1 + rng.below(400); count++) {
            const id = `o${rng.below(1_000)}`;
            if (rng.below(10) === 0) tx.delete('objects', ['Order', id]);
            else put(tx, id, rng.below(1_000));
          }
        });
        expect(orders.view.list()).toBe(before);
      }
      for (const [index, { query, follow }] of followed.entries()) {
        stops[index] ??= follow();
        expect(idsOf(query.list()).filter((id) => !id.startsWith('mine'))).toEqual([]);
      }
      calls.fill(0);
      const mine = orders.view.list();
      const results = followed.map(({ query }) => query.list());
      await storePart('complete', (tx) => put(tx, 'last', 500));
      for (const [index, { query }] of followed.entries()) {
        const fresh = new DeviceQueries(openCopy(orders.view.list()), null).of('Order').query(OPTIONS[index] ?? {});
        expect(query.list().map(({ id, attributes }) => [id, attributes])).toEqual(
          fresh.list().map(({ id, attributes }) => [id, attributes]),
        );
        expect(query.count()).toBe(fresh.count());
        expect(calls[index]).toBe(query.list() === results[index] ? 0 : 1);
      }
      for (const object of mine) expect(orders.view.get(object.id)).toBe(object);
    }
  });

  it('[QUERY-7] a query that includes objects of a source shows them when the first sync of that source is complete', async () => {
    const { replica, queries, storePart } = openReplica();
    await replica.transact((tx) => {
      tx.put('sources', ['', 'Line'], ROW);
      tx.put('objects', ['Line', 'l1'], { order_id: 'o1' });
    });
    const lines = queries.of('Line').query({ include: { order: { source: 'Order', via: 'order_id' } } });
    const orders = queries.of('Order').query({ include: { lines: { source: 'Line', by: 'order_id' } } });
    const calls: unknown[] = [];
    const included = () => [lines, orders].map((query) => query.list().map((row) => Object.values(includedIn(row))));
    lines.subscribe(() => calls.push('lines'));
    orders.subscribe(() => calls.push('orders'));
    await storePart('hidden', (tx) => put(tx, 'o1', 1));
    expect([calls, included()]).toEqual([[], [[[undefined]], []]]);
    await storePart('complete', (tx) => put(tx, 'o2', 2));
    const [line, order] = [queries.of('Line').view.get('l1'), queries.of('Order').view.get('o1')];
    expect(included()).toEqual([[[order]], [[[line]], [[]]]]);
    expect(calls.toSorted()).toEqual(['lines', 'orders']);
  });

  it('[QUERY-7] queries that include objects of each other equal a naive evaluation after every part of two first syncs', async () => {
    for (let seed = 0; seed < 30; seed++) {
      const rng = new Rng(seededRandom(seed));
      const { replica, queries } = openReplica();
      const [orders, lines] = [queries.of('Order'), queries.of('Line')];
      const ofOrders = orders.query({ orderBy: 'n', limit: 7, include: { lines: { source: 'Line', by: 'order_id' } } });
      const ofLines = lines.query({ include: { order: { source: 'Order', via: 'order_id' } } });
      const follow = [ofOrders, ofLines].filter(() => rng.below(4) > 0);
      for (const query of follow) query.subscribe(() => undefined);
      const naive = () => {
        const ordered = orders.view
          .list()
          .toSorted((left, right) => numberIn(left) - numberIn(right) || byId(left, right));
        const linesOf = (id: string) => lines.view.list().filter(({ attributes }) => attributes.order_id === id);
        return [
          ordered.slice(0, 7).map(({ id }) => [id, linesOf(id).toSorted(byId)]),
          lines.view.list().map(({ id, attributes }) => [id, orders.view.get(String(attributes.order_id))]),
        ];
      };
      const shown = () => [
        ofOrders.list().map((row) => [row.id, includedIn(row).lines]),
        ofLines.list().map((row) => [row.id, includedIn(row).order]),
      ];
      const isHidden: Record<string, boolean> = { Order: true, Line: true };
      for (let step = 0; step < 12; step++) {
        const source = rng.below(2) === 0 ? 'Order' : 'Line';
        if (rng.below(4) === 0) isHidden[source] = rng.below(4) === 0;
        const rowsBefore = ofLines.list();
        await replica.transact((tx) => {
          const staging = isHidden[source] ? { token: null, pages: 0, firstSync: 'hidden' as const } : null;
          tx.put('sources', ['', source], { ...ROW, staging });
          for (let count = 0; count < rng.below(150); count++) {
            const key = [source, `${source}${rng.below(200)}`] as const;
            if (rng.below(8) === 0) tx.delete('objects', key);
            else tx.put('objects', key, { n: rng.below(20), order_id: `Order${rng.below(200)}` });
          }
        });
        expect(shown()).toEqual(naive());
        // A row is the same one while nothing of it changes.
        const before = new Map(rowsBefore.map((row) => [row.id, row]));
        for (const row of ofLines.list()) {
          const last = before.get(row.id);
          const isSame = last?.attributes === row.attributes && includedIn(last).order === includedIn(row).order;
          if (isSame && follow.includes(ofLines)) expect(row).toBe(last);
        }
      }
    }
  });
});

const numberIn = ({ attributes }: SyncedObject) => attributes.n as number;

const byId = (left: SyncedObject, right: SyncedObject) => (left.id < right.id ? -1 : 1);

function includedIn(row: SyncedObject): Readonly<Record<string, unknown>> {
  return (row as SyncedObject & { readonly included: Readonly<Record<string, unknown>> }).included;
}

/** A replica that holds these objects from the start. */
function openCopy(objects: readonly SyncedObject[]): Replica {
  const rows = objects.map(({ id, attributes }) => ({
    ...{ table: 'objects' as const, key: ['Order', id] as const, value: attributes },
  }));
  const replica = new Replica(() => undefined, memoryStore());
  replica.open(new LocalState(rows));
  return replica;
}
