import type { Page, Upload } from '@tidemark/protocol';
import { newTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { pageJson } from '../pages/render-page.ts';
import { type Adapter, AdapterRefusal } from '../ports/adapter.ts';
import { userPartition } from '../ports/owner.ts';
import type { GroupTokens } from './presented.ts';
import type { DevicePull } from './pulls.ts';

/** A promise that a test resolves when it wants. */
function gate() {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

function pagesIn({ pages }: DevicePull): Record<string, Page> {
  return Object.fromEntries(
    pages.map(({ source, group, page }) => [
      group ?? source,
      ('error' in page ? page : JSON.parse(pageJson(page.token, page.body))) as Page,
    ]),
  );
}

/** A backend that has nothing to tell and rejects all changes, unless it is given more. */
async function setUp(given: Partial<Adapter> | null, attributes: Record<string, unknown>) {
  const backend = { query: async () => ({ objects: {} }), create: rejecting, update: rejecting, delete: rejecting };
  const adapters = { find: (name: string) => (name === 'Visit' && given !== null ? { ...backend, ...given } : null) };
  const fixture = await newTidemark({ adapters });
  const { tidemark } = fixture;
  const settings = given === null ? {} : { adapter: 'Visit', poll_interval: -1 };
  await tidemark.sources.declare({ name: 'Visit', ...settings, ...attributes });
  const ada = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
  const tablet = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
  const pull = async (device: typeof ada, presented: string | null | GroupTokens = null) =>
    tidemark.devices.pull(device, { sources: new Map([['Visit', presented]]) });
  return { ...fixture, ada, tablet, pull };
}

/** Waits until all pending work has settled. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A source of groups that are set in Tidemark. */
const WITH_GROUPS = { partition_type: 'group', adapter: 'none' };

const rejecting = async () => {
  throw new AdapterRefusal('rejected', 'not today');
};

describe('a user who is moved while a pull is under way', () => {
  it('[ADAPT-7] gets no object of the old partition with an outcome, also from a source without pages', async () => {
    let team = 'north';
    const bulk = { sync_type: 'bulk_only' };
    const { tidemark, store, ada, tablet, pull } = await setUp({ partition: async () => team }, bulk);
    await tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects: { n1: { secret: 'of the north' } } });
    const upload: Upload = { op_id: 'op-1', source: 'Visit', op: 'update', id: 'n1', attributes: { a: 1 } };
    await tidemark.devices.push(ada, { changes: [upload] });
    expect((await pull(ada)).outcomes).toMatchObject([{ op_id: 'op-1', current: { secret: 'of the north' } }]);
    const { readObjects } = store;
    store.readObjects = async (...call) => {
      store.readObjects = readObjects;
      const read = await readObjects.apply(store, call);
      team = 'south';
      await pull(tablet);
      return read;
    };
    expect((await pull(ada)).outcomes).toEqual([]);
    expect((await pull(ada)).outcomes).toMatchObject([{ op_id: 'op-1', current: null }]);
  });

  /** A backend that names `team`. The question after `delay` is answered when the gate opens, with what was right before. */
  const slowTeams = () => {
    const { open, opened } = gate();
    const state = { team: 'north', isDelayed: false };
    const partition = async () => {
      const { team, isDelayed } = state;
      state.isDelayed = false;
      if (isDelayed) await opened;
      return team;
    };
    return { state, open, partition };
  };

  it('[ADAPT-7] gets nothing of the old partition when the adapter named it before the move and answers late', async () => {
    const { state, open, partition } = slowTeams();
    const { tidemark, ada, tablet, pull } = await setUp({ partition }, {});
    await tidemark.objects.push({ source: 'Visit', user_id: 'ada', objects: { n1: { secret: 'of the north' } } });
    state.isDelayed = true;
    const answer = pull(ada);
    await settled();
    state.team = 'south';
    await pull(tablet);
    open();
    expect(pagesIn(await answer)).toEqual({ Visit: { error: expect.objectContaining({ code: 'not_a_member' }) } });
    expect(pagesIn(await pull(ada))).toMatchObject({ Visit: { size: 0 } });
  });

  it('[ADAPT-7] gets the new partition when the adapter answers the first question about the user late', async () => {
    const { state, open, partition } = slowTeams();
    const { tidemark, ada, tablet, pull } = await setUp({ partition }, {});
    await tidemark.objects.push({ source: 'Visit', user_id: 'bob', objects: { n1: { secret: 'of the north' } } });
    state.isDelayed = true;
    const answer = pull(ada);
    await settled();
    state.team = 'south';
    await pull(tablet);
    open();
    expect(pagesIn(await answer)).toMatchObject({ Visit: { reset: true, size: 0 } });
  });
});

describe('a user who joins a group while a pull is under way', () => {
  it('[GROUP-17] is not told the removal of a move into this group as the last word', async () => {
    const { tidemark, store, ada, pull } = await setUp(null, WITH_GROUPS);
    await tidemark.groups.set('ada', ['north']);
    await tidemark.objects.push({ source: 'Visit', group: 'north', objects: { n1: { a: 1 }, n2: { a: 1 } } });
    const { north } = pagesIn(await pull(ada, { groups: new Map() }));
    const { partition } = store;
    store.partition = async (...call) => {
      store.partition = partition;
      await tidemark.groups.add('ada', ['south']);
      await tidemark.objects.move({ source: 'Visit', from: 'north', to: 'south', objects: ['n1'] });
      return partition.apply(store, call);
    };
    const answer = await pull(ada, { groups: new Map([['north', north?.token ?? null]]) });
    expect(pagesIn(answer)).toMatchObject({ north: { delete: ['n1'] } });
    expect(answer.grouped).toMatchObject([{ more: true }]);
  });
});

describe('a user who leaves a group, or joins it again, while a pull is under way', () => {
  const inNorth = async () => {
    const test = await setUp(null, WITH_GROUPS);
    await test.tidemark.groups.set('ada', ['north', 'south']);
    await test.tidemark.objects.push({ source: 'Visit', group: 'north', objects: { n1: { secret: 'of the north' } } });
    return test;
  };

  it('[GROUP-15] gets no object of the group with an outcome', async () => {
    const { tidemark, store, ada, pull } = await inNorth();
    const upload: Upload = { op_id: 'op-1', source: 'Visit', group: 'north', op: 'create', id: 'n1', attributes: {} };
    await tidemark.devices.push(ada, { changes: [upload] });
    const asked = { groups: new Map(), uploads: ['north'] };
    expect((await pull(ada, asked)).outcomes).toMatchObject([{ op_id: 'op-1', current: { secret: 'of the north' } }]);
    const { readObjects } = store;
    store.readObjects = async (...call) => {
      store.readObjects = readObjects;
      const read = await readObjects.apply(store, call);
      await tidemark.groups.remove('ada', ['north']);
      return read;
    };
    expect((await pull(ada, asked)).outcomes).toEqual([]);
    expect((await pull(ada, asked)).outcomes).toMatchObject([{ op_id: 'op-1', current: null }]);
  });

  it('[GROUP-5] does not hear that the group has changed', async () => {
    const { tidemark, store, ada, pull } = await inNorth();
    const tokensIn = (answer: DevicePull) =>
      new Map(Object.entries(pagesIn(answer)).map(([group, { token }]) => [group, token]));
    const groups = tokensIn(await pull(ada, { groups: new Map() }));
    const [{ setToken = null } = {}] = (await pull(ada, { groups, set: null })).grouped;
    expect(setToken).toEqual(expect.any(String));
    await tidemark.objects.push({ source: 'Visit', group: 'north', objects: { n2: { a: 1 } } });
    const presented = { groups: new Map(), set: setToken };
    expect((await pull(ada, presented)).grouped).toMatchObject([{ changed: ['north'] }]);
    const { changedSince } = store;
    store.changedSince = async (...call) => {
      store.changedSince = changedSince;
      const read = await changedSince.apply(store, call);
      await tidemark.groups.remove('ada', ['north']);
      return read;
    };
    expect((await pull(ada, presented)).grouped).toMatchObject([{ changed: [] }]);
  });

  it('[GROUP-3] does not hear that a group is gone that the user is in again', async () => {
    const { tidemark, store, ada, pull } = await inNorth();
    const { south } = pagesIn(await pull(ada, { groups: new Map() }));
    await tidemark.groups.remove('ada', ['north']);
    const groups = new Map([
      ['north', null],
      ['south', south?.token ?? null],
    ]);
    expect((await pull(ada, { groups })).grouped).toMatchObject([{ gone: ['north'] }]);
    const { partition } = store;
    store.partition = async (...call) => {
      store.partition = partition;
      await tidemark.groups.add('ada', ['north']);
      return partition.apply(store, call);
    };
    expect((await pull(ada, { groups })).grouped).toMatchObject([{ gone: [] }]);
  });
});

describe('a source that is dropped and declared again while a pull is under way', () => {
  it('[GROUP-5] gives nothing of a group to somebody whom its new adapter does not name', async () => {
    const groups = async ({ user }: { readonly user: string }) => (user === 'bob' ? ['north'] : []);
    const { tidemark, store, ada, pull } = await setUp({ groups }, WITH_GROUPS);
    await tidemark.groups.set('ada', ['north']);
    await tidemark.objects.push({ source: 'Visit', group: 'north', objects: { n1: { a: 1 } } });
    const { readJoined } = store;
    store.readJoined = async (...call) => {
      store.readJoined = readJoined;
      await tidemark.sources.drop('Visit');
      await tidemark.sources.declare({ name: 'Visit', partition_type: 'group', adapter: 'Visit', poll_interval: -1 });
      await tidemark.objects.push({ source: 'Visit', group: 'north', objects: { n2: { secret: 'of bob' } } });
      return readJoined.apply(store, call);
    };
    const answer = await pull(ada, { groups: new Map([['north', null]]) });
    expect(pagesIn(answer)).toEqual({});
    expect(answer.grouped).toMatchObject([{ gone: ['north'] }]);
  });
});

describe('a device that was deleted and registered again', () => {
  it('[TIDE-1] has acknowledged nothing by a pull that began before', async () => {
    const { tidemark, store } = await newTidemark();
    const phone = { user: 'ada', client: 'phone' };
    const orders = userPartition('Order', 'ada');
    const pull = (token: string | null) => tidemark.devices.pull(phone, { sources: new Map([['Order', token]]) });
    await tidemark.clients.register('ada', { client_id: 'phone' });
    await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 } } });
    const { Order } = pagesIn(await pull(null));
    const { readTidemark } = store;
    store.readTidemark = async (...call) => {
      store.readTidemark = readTidemark;
      await tidemark.clients.delete('ada', 'phone');
      await tidemark.clients.register('ada', { client_id: 'phone' });
      return readTidemark.apply(store, call);
    };
    await (await pull(Order?.token ?? null)).noted;
    expect(await store.readTidemark(orders, 'phone')).toBeNull();
  });
});

describe('a device that has erased itself', () => {
  it('[RECEIPT-8] has acknowledged nothing by a pull that began before', async () => {
    const { tidemark, store } = await newTidemark();
    const phone = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
    const pull = (token: string | null) => tidemark.devices.pull(phone, { sources: new Map([['Product', token]]) });
    await tidemark.objects.push({ source: 'Product', objects: { 1: { a: 1 } } });
    const first = await pull(null);
    await first.noted;
    const { readTidemark } = store;
    store.readTidemark = async (...call) => {
      store.readTidemark = readTidemark;
      await tidemark.clients.wipes.order(phone.client, 'admin');
      await tidemark.clients.wipes.confirm('ada', phone.client, 0);
      return readTidemark.apply(store, call);
    };
    await (await pull(pagesIn(first).Product?.token ?? null)).noted;
    expect(await tidemark.receipts.read({ source: 'Product' })).toMatchObject({ delivered: 0 });
  });
});
