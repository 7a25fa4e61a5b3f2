import type { Device, Query, SyncedObject } from '@tidemark/client';
import { openTestServer } from '@tidemark/client-testing';
import type { Row } from '../row.ts';

const MANY = 50_000;
const FEW = 500;
const EDITS = 50;
/** Objects that are edited, again and again. */
const EDITED = 20;
const ROUNDS = 5;
const SHOWN = 50;
const PUSH_OBJECTS = 10_000;

interface Order {
  readonly total: number;
  readonly customer: string;
}

/** Does one thing and returns how long it took, in milliseconds. */
type Timed = () => Promise<number>;

interface Edited {
  readonly edit: Timed;
  readonly editFirst: Timed;
  readonly evaluate: Timed;
  readonly close: () => Promise<void>;
}

/** An edit with a live query costs what it touches, however many objects match; reading copies what the result shows. */
export async function liveQuery(): Promise<readonly Row[]> {
  const [few, many] = [await openWith(FEW), await openWith(MANY)];
  const [fewMs = 0, manyMs = 0] = await medians([few.editFirst, many.editFirst]);
  const [allMs = 0, naiveMs = 0] = await medians([many.edit, many.evaluate]);
  await few.close();
  await many.close();
  return [
    {
      name: 'edit with a live query, first 50',
      measured: `${manyMs.toFixed(3)} ms of ${MANY}`,
      against: `${fewMs.toFixed(3)} ms of ${FEW}`,
      ratio: manyMs / fewMs,
      bound: { atMost: 4 },
    },
    {
      name: 'edit with a live query, all of it',
      measured: `${allMs.toFixed(3)} ms of ${MANY}`,
      against: `${naiveMs.toFixed(3)} ms to filter and sort`,
      ratio: allMs / naiveMs,
      bound: { atMost: 0.5 },
    },
  ];
}

/** Opens a device with so many objects and a query that shows all of them, sorted. */
async function openWith(objects: number): Promise<Edited> {
  const server = await openTestServer({ sources: [{ name: 'Order' }], users: ['ada'], speed: 1 });
  for (let from = 0; from < objects; from += PUSH_OBJECTS) {
    const ids = Array.from({ length: Math.min(PUSH_OBJECTS, objects - from) }, (_, index) => from + index);
    const pushed = ids.map((id) => [String(id), { total: (id * 7919) % objects, customer: `customer ${id % 100}` }]);
    await server.push('Order', Object.fromEntries(pushed) as Record<string, object>, { user: 'ada' });
  }
  const device = await server.openDevice({ user: 'ada', live: false });
  await device.sync();
  device.goOffline();
  const [all, first] = [queryOf(device, undefined), queryOf(device, SHOWN)];
  if (all.list().length !== objects) throw new Error(`expected ${objects} objects, got ${all.list().length}`);
  return {
    edit: editorOf(device, all),
    editFirst: editorOf(device, first),
    evaluate: async () => {
      const list = all.list();
      const startMs = performance.now();
      const found = list.filter(({ attributes }) => attributes.total >= 0);
      found.sort((left, right) => left.attributes.total - right.attributes.total);
      return performance.now() - startMs;
    },
    close: () => server.close(),
  };
}

function queryOf(device: Device, limit: number | undefined): Query<SyncedObject<Order>> {
  return device.source<Order>('Order').query({ where: { total: { gte: 0 } }, orderBy: { total: 'desc' }, limit });
}

/** Returns a function that edits one object while the query is followed, reads the result, and returns how long that took. */
function editorOf(device: Device, query: Query<SyncedObject<Order>>): Timed {
  const orders = device.source<Order>('Order');
  const objects = query.count();
  let edits = 0;
  return async () => {
    const stop = query.subscribe(() => undefined);
    edits++;
    const id = String(((edits % EDITED) * 7_907) % objects);
    const startMs = performance.now();
    // The change shows before the promise resolves, which waits for the store.
    const stored = orders.update(id, { total: (edits * 104_729) % objects });
    query.list();
    const tookMs = performance.now() - startMs;
    await stored;
    stop();
    return tookMs;
  };
}

/** The medians of calls that take turns in rounds. The first call of a round evaluates the query again, and does not count. */
async function medians(calls: readonly Timed[]): Promise<readonly number[]> {
  const times = calls.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, call] of calls.entries()) {
      await call();
      for (let count = 0; count < EDITS; count++) times[index]?.push(await call());
    }
  }
  return times.map((list) => list.sort((left, right) => left - right)[Math.floor(list.length / 2)] ?? 0);
}
