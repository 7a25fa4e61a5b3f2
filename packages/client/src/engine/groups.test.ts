import type { Device, DeviceStatus } from '@tidemark/client';
import { groupPartition } from '@tidemark/core';
import type { PullAnswer, PullRequest } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { LocalStore } from '../ports/local-store.ts';
import { memoryStore } from '../stores/memory-store.ts';

type Objects = Record<string, Record<string, unknown>>;

async function setUp(
  groups: readonly string[],
  options: { readonly store?: LocalStore; readonly pageObjects?: number } = {},
) {
  const fixture = await newDeviceFixture();
  const { tidemark } = fixture;
  await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
  await tidemark.groups.set('ada', groups);
  const push = (group: string, objects: Objects) => tidemark.objects.push({ source: 'Visit', group, objects });
  const device = await fixture.open({ sources: ['Visit'], ...options });
  const sync = () => fixture.finish(device.sync());
  return { fixture, tidemark, push, device, sync };
}

const seen = (device: Device) =>
  Object.fromEntries(
    device
      .source('Visit')
      .list()
      .map(({ id, attributes, groups }) => [id, { ...attributes, groups }]),
  );

/** What the progress of all sources says, for the only one. */
const only = (progress: DeviceStatus['progress'] = null) =>
  progress && { objects: progress.objects, total: progress.total, bytes: progress.bytes };

const stateOf = async (fixture: DeviceFixture, group: string) =>
  Object.fromEntries(await fixture.tidemark.objects.read({ source: 'Visit', group }));

describe('a source of groups on a device', () => {
  it('[GROUP-19] a device shows the union of its groups, and follows grants and revokes', async () => {
    const { tidemark, push, device, sync } = await setUp(['north', 'south']);
    await push('north', { n: { a: 1 }, both: { a: 'north' } });
    await push('south', { both: { a: 'south' } });
    await push('west', { w: { a: 1 } });
    await sync();
    expect(seen(device)).toEqual({
      n: { a: 1, groups: ['north'] },
      both: { a: 'north', groups: ['north', 'south'] },
    });
    await tidemark.groups.set('ada', ['south', 'west']);
    await sync();
    expect(seen(device)).toEqual({ both: { a: 'south', groups: ['south'] }, w: { a: 1, groups: ['west'] } });
    await tidemark.objects.pushDeletes({ source: 'Visit', group: 'south', objects: ['both'] });
    await push('west', { w: { a: 2 } });
    await sync();
    expect(seen(device)).toEqual({ w: { a: 2, groups: ['west'] } });
    await tidemark.groups.set('ada', []);
    await sync();
    expect(seen(device)).toEqual({});
  });

  it('[GROUP-31] a device that follows some groups keeps only those, also after a restart', async () => {
    const store = memoryStore();
    const { fixture, push, device, sync } = await setUp(['north', 'south'], {
      store: { load: () => store.load(), commit: (writes) => store.commit(writes), close: async () => undefined },
    });
    await push('north', { n: { a: 1 }, both: { a: 'north' } });
    await push('south', { s: { a: 1 }, both: { a: 'south' } });
    await sync();
    await fixture.finish(device.source('Visit').follow({ groups: ['south'] }));
    expect(seen(device)).toEqual({ s: { a: 1, groups: ['south'] }, both: { a: 'south', groups: ['south'] } });
    await push('north', { n: { a: 2 } });
    await push('south', { s: { a: 2 } });
    await sync();
    expect(seen(device)).toEqual({ s: { a: 2, groups: ['south'] }, both: { a: 'south', groups: ['south'] } });
    await device.close();
    const again = await fixture.open({ sources: ['Visit'], store: memoryStore(await store.load()), user: null });
    await push('north', { n: { a: 3 } });
    await fixture.finish(again.sync());
    expect(Object.keys(seen(again)).sort()).toEqual(['both', 's']);
    await fixture.finish(again.source('Visit').follow({ groups: null }));
    await fixture.finish(again.sync());
    expect(seen(again)).toEqual({
      n: { a: 3, groups: ['north'] },
      s: { a: 2, groups: ['south'] },
      both: { a: 'north', groups: ['north', 'south'] },
    });
    expect(again.status.getSnapshot().heals).toBe(0);
  });

  it('[SDK-25] a device that starts over fetches all groups again, shows what it had until then, and keeps its uploads', async () => {
    const { fixture, push, device, sync } = await setUp(['north', 'south'], { pageObjects: 1 });
    await push('north', { n: { a: 1 }, both: { a: 'north' } });
    await push('south', { s: { a: 1 }, both: { a: 'south' } });
    await sync();
    fixture.platform.setOnline(false);
    await device.source('Visit').update('s', { a: 'mine' });
    const shown = new Set<string>();
    device.source('Visit').subscribe(() => shown.add(Object.keys(seen(device)).sort().join()));
    await device.startOver();
    await push('north', { n: { a: 2 } });
    const asked: unknown[] = [];
    fixture.intercept = ({ path, body }) => {
      if (path === '/pull') asked.push((body as PullRequest).sources.Visit);
      return undefined;
    };
    fixture.platform.setOnline(true);
    await sync();
    expect(asked[0]).toEqual({ groups: { north: {}, south: {} }, set_token: null });
    expect([...shown]).toEqual(['both,n,s']);
    expect(seen(device)).toEqual({
      n: { a: 2, groups: ['north'] },
      s: { a: 'mine', groups: ['south'] },
      both: { a: 'north', groups: ['north', 'south'] },
    });
    expect(await stateOf(fixture, 'south')).toEqual({ s: { a: 'mine' }, both: { a: 'south' } });
    expect(device.status.getSnapshot()).toMatchObject({ pendingUploads: 0, heals: 0, error: null });
  });

  it('[GROUP-31] a device that begins to follow some groups during the first pull of others does not keep those', async () => {
    const { fixture, tidemark, push, device, sync } = await setUp([]);
    await sync();
    await tidemark.groups.set('ada', ['north', 'south']);
    await push('north', { n: { a: 1 }, both: { a: 'north' } });
    await push('south', { s: { a: 1 }, both: { a: 'south' } });
    let follows: Promise<unknown> | null = null;
    fixture.intercept = async ({ path }, go) => {
      const answer = await go();
      if (path !== '/pull' || follows !== null) return answer;
      const { sources } = (await answer.clone().json()) as PullAnswer;
      // The first answer only says that the groups are others than before.
      if (!JSON.stringify(sources).includes('"north":')) return answer;
      follows = device.source('Visit').follow({ groups: ['south'] });
      await follows;
      return answer;
    };
    await sync();
    await push('north', { n: { a: 2 } });
    await sync();
    expect(seen(device)).toEqual({ s: { a: 1, groups: ['south'] }, both: { a: 'south', groups: ['south'] } });
  });

  it('[GROUP-31] objects of a group that is no longer followed are kept for the time that the app names', async () => {
    const { fixture, push, device, sync } = await setUp(['north', 'south']);
    await push('north', { n: { a: 1 } });
    await push('south', { s: { a: 1 } });
    await sync();
    await fixture.finish(device.source('Visit').follow({ groups: ['south'], keepForMs: 60_000 }));
    await push('north', { n: { a: 2 } });
    await sync();
    expect(seen(device)).toEqual({ n: { a: 1, groups: ['north'] }, s: { a: 1, groups: ['south'] } });
    const isGone = new Promise<void>((resolve) => {
      device.source('Visit').subscribe(() => device.source('Visit').get('n') === undefined && resolve());
    });
    await fixture.platform.advance(60_000);
    await fixture.finish(isGone);
    expect(seen(device)).toEqual({ s: { a: 1, groups: ['south'] } });
    await fixture.finish(device.source('Visit').follow({ groups: ['north', 'south'] }));
    await sync();
    expect(seen(device)).toEqual({ n: { a: 2, groups: ['north'] }, s: { a: 1, groups: ['south'] } });
  });

  it('[GROUP-31] following groups of a source that has none, or that the server does not have, is refused', async () => {
    const { fixture, device, sync } = await setUp(['north']);
    await sync();
    const follow = (source: string) => fixture.finish(device.source(source).follow({ groups: ['north'] }));
    await expect(follow('Order')).rejects.toMatchObject({ code: 'invalid_request' });
    await expect(follow('Nowhere')).rejects.toMatchObject({ code: 'source_not_found' });
    await fixture.finish(device.signOut());
    await expect(follow('Visit')).rejects.toMatchObject({ code: 'signed_out' });
  });

  it('[GROUP-20] an object that moves between two groups of the device is never missing', async () => {
    const { tidemark, push, device, sync } = await setUp(['a', 'b'], { pageObjects: 1 });
    const many: Objects = Object.fromEntries(Array.from({ length: 6 }, (_, index) => [`o${index}`, { n: index }]));
    await push('b', many);
    await sync();
    expect(Object.keys(seen(device))).toEqual(Object.keys(many));
    const sizes = new Set<number>();
    device.source('Visit').subscribe(() => sizes.add(device.source('Visit').list().length));
    await tidemark.objects.move({ source: 'Visit', from: 'b', to: 'a', objects: Object.keys(many) });
    await sync();
    expect([...sizes]).toEqual([6]);
    expect(seen(device).o3).toEqual({ n: 3, groups: ['a'] });
  });

  it('[GROUP-21] a catch-up of many groups that is interrupted continues, also after a restart', async () => {
    const kept = memoryStore();
    const store = { load: () => kept.load(), commit: kept.commit.bind(kept), close: async () => undefined };
    const groups = Array.from({ length: 8 }, (_, index) => `g${index}`);
    const { fixture, push, device } = await setUp(groups, { store, pageObjects: 3 });
    for (const group of groups) await push(group, { [`${group}-1`]: { a: 1 }, [`${group}-2`]: { a: 1 } });
    let pulls = 0;
    fixture.intercept = ({ path }) => {
      if (path !== '/pull' || ++pulls < 2) return undefined;
      return Promise.reject(new TypeError('the connection broke'));
    };
    await fixture.finish(device.sync()).catch(() => undefined);
    expect(seen(device)).toEqual({});
    await device.close();
    fixture.intercept = () => undefined;
    const again = await fixture.open({ sources: ['Visit'], store, pageObjects: 3 });
    await fixture.finish(again.sync());
    expect(Object.keys(seen(again))).toHaveLength(16);
  });

  it('[SDK-23] the progress of a first sync counts the objects and bytes of all groups of a source', async () => {
    const { fixture, tidemark, push, device, sync } = await setUp(['north', 'south'], { pageObjects: 2 });
    await push('north', { n1: { a: 1 }, n2: { a: 1 }, n3: { a: 1 } });
    await push('south', { s1: { a: 1 }, s2: { a: 1 } });
    const progress: DeviceStatus['progress'][] = [];
    device.status.subscribe(() => {
      const { progress: now } = device.status.getSnapshot();
      if (now !== null && now !== progress.at(-1)) progress.push(now);
    });
    await sync();
    const last = progress.at(-1);
    expect(progress.map((one) => one?.sources.get('Visit')?.objects)).toEqual([2, 4]);
    expect(last).toEqual({ objects: 4, total: 5, bytes: last?.bytes, sources: new Map([['Visit', only(last)]]) });
    expect(last?.bytes).toBeGreaterThan(progress[0]?.bytes ?? 0);
    expect(device.status.getSnapshot().progress).toBeNull();

    // Catching up with changes is no first sync; a group that is new to the device is.
    progress.length = 0;
    await push('north', { n1: { a: 2 }, n2: { a: 2 }, n3: { a: 2 } });
    await sync();
    expect(progress).toEqual([]);
    await push('west', { w1: { a: 1 }, w2: { a: 1 }, w3: { a: 1 } });
    await tidemark.groups.set('ada', ['north', 'south', 'west']);
    await sync();
    expect(progress.map((one) => [one?.objects, one?.total])).toEqual([[2, 3]]);
    expect(device.status.getSnapshot()).toMatchObject({ progress: null, heals: 0 });
    await fixture.finish(device.close());
  });

  it('[GROUP-22] a new object names its group unless there is just one, and changes go to the group of the object', async () => {
    const { fixture, tidemark, push, device, sync } = await setUp(['north']);
    await push('north', { n: { a: 1 } });
    await sync();
    const visits = device.source<Record<string, unknown>>('Visit');
    await visits.create({ a: 1 }, { id: 'x' });
    await sync();
    expect(await stateOf(fixture, 'north')).toEqual({ n: { a: 1 }, x: { a: 1 } });
    await tidemark.groups.set('ada', ['north', 'south']);
    await sync();
    await expect(visits.create({ a: 1 }, { id: 'y' })).rejects.toMatchObject({ code: 'group_required' });
    await visits.create({ a: 1 }, { id: 'y', group: 'south' });
    await visits.update('y', { a: 2 });
    await visits.delete('n');
    await sync();
    expect([await stateOf(fixture, 'north'), await stateOf(fixture, 'south')]).toEqual([
      { x: { a: 1 } },
      { y: { a: 2 } },
    ]);
    expect(seen(device)).toEqual({ x: { a: 1, groups: ['north'] }, y: { a: 2, groups: ['south'] } });
    expect(device.uploads.getSnapshot()).toEqual([]);
  });

  it('[GROUP-22] an upload to a group that the user has left is rejected, and acknowledged outcomes end', async () => {
    const { fixture, tidemark, push, device, sync } = await setUp(['north', 'south']);
    await push('north', { n: { a: 1 } });
    await sync();
    device.goOffline();
    await device.source<Record<string, unknown>>('Visit').update('n', { a: 2 });
    await tidemark.groups.set('ada', ['south']);
    device.goOnline();
    await sync();
    expect(device.problems.getSnapshot()).toMatchObject([{ id: 'n', error: { code: 'not_a_member' } }]);
    expect(seen(device)).toEqual({});
    const asked: PullRequest[] = [];
    fixture.intercept = ({ path, body }) => {
      if (path === '/pull') asked.push(body as PullRequest);
      return undefined;
    };
    await device.source<Record<string, unknown>>('Visit').create({ a: 1 }, { id: 's' });
    await sync();
    await sync();
    expect(asked.some(({ acknowledged }) => JSON.stringify(acknowledged)?.includes('"south"'))).toBe(true);
  });

  it('[GROUP-28] a device that has caught up presents one token for all its groups', async () => {
    const { fixture, tidemark, push, device, sync } = await setUp(['north', 'south', 'west']);
    await push('north', { n: { a: 1 } });
    await sync();
    await sync();
    const asked: PullRequest['sources'][string][] = [];
    fixture.intercept = ({ path, body }) => {
      const { Visit: visit } = path === '/pull' ? (body as PullRequest).sources : {};
      if (visit !== undefined) asked.push(visit);
      return undefined;
    };
    const presented = async () => {
      asked.length = 0;
      await sync();
      return asked.map(({ groups = {}, set_token: set }) => [typeof set, Object.keys(groups)]);
    };
    expect(await presented()).toEqual([['string', []]]);
    await push('south', { s: { a: 1 } });
    expect(await presented()).toEqual([
      ['string', []],
      ['string', ['south']],
    ]);
    expect(await presented()).toEqual([['string', ['south']]]);
    expect(await presented()).toEqual([['string', []]]);
    await tidemark.groups.set('ada', ['north', 'south']);
    expect(await presented()).toEqual([
      ['string', []],
      ['object', ['north', 'south', 'west']],
    ]);
    await push('north', { n: { a: 2 } });
    await sync();
    expect(seen(device)).toEqual({ n: { a: 2, groups: ['north'] }, s: { a: 1, groups: ['south'] } });
  });

  it('[SDK-18] a catch-up of a group is acknowledged without another pull', async () => {
    const { fixture, push, device, sync } = await setUp(['north', 'south']);
    await push('north', { n: { a: 1 } });
    await sync();
    const client = device.status.getSnapshot().clientId ?? '';
    const base = async () =>
      (await fixture.tidemark.store.readTidemark(groupPartition('Visit', 'north'), client))?.base;
    await fixture.platform.until(() => fixture.sync.count('/ack') > 0, 'acknowledged');
    const acks = fixture.sync.count('/ack');
    await push('north', { n: { a: 2 } });
    await sync();
    await fixture.platform.until(() => fixture.sync.count('/ack') > acks, 'acknowledged again');
    expect(await base()).toBe(2);
  });
});
