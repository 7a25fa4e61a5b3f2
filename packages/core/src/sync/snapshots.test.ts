import type { Page } from '@tidemark/protocol';
import { HeldObjects, newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { DeviceId } from '../devices/device-id.ts';
import type { RenderedPage } from '../pages/read-page.ts';
import { pageJson } from '../pages/render-page.ts';
import { readOwner } from '../ports/owner.ts';
import type { SnapshotPages } from './snapshots.ts';

const LINE = 10;
const limits = { lineObjectsMax: LINE };

async function newDevice({ tidemark }: TestTidemark, user = 'ada'): Promise<DeviceId> {
  return { user, client: (await tidemark.clients.register(user, {})).client_id };
}

const many = (count: number, from = 0) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${from + index}`, { n: from + index }]));

/** Reads the next pages and applies them to what the device holds. */
async function next(snapshot: SnapshotPages, held: HeldObjects): Promise<readonly RenderedPage[] | null> {
  const step = await snapshot.next();
  if (step.done === true) return null;
  for (const { token, body } of step.value) held.apply(JSON.parse(pageJson(token, body)) as Page);
  return step.value;
}

/** The numbers of pages that were yielded at once. */
async function readAll(snapshot: SnapshotPages, held: HeldObjects): Promise<readonly number[]> {
  const steps: number[] = [];
  for (let pages = await next(snapshot, held); pages !== null; pages = await next(snapshot, held)) {
    steps.push(pages.length);
  }
  return steps;
}

async function heldIs(held: HeldObjects, { tidemark }: TestTidemark, source: string, user?: string): Promise<void> {
  const there = await tidemark.objects.read({ source, ...(user === undefined ? {} : { user_id: user }) });
  expect(Object.fromEntries(held.objects)).toEqual(Object.fromEntries(there));
}

describe('a snapshot', () => {
  it('[SNAP-6] a snapshot yields cached pages a few at a time, and other pages one by one', async () => {
    const test = await newTidemark({ limits });
    const [ada, bob] = [await newDevice(test), await newDevice(test, 'bob')];
    await test.tidemark.objects.push({ source: 'Product', objects: many(9 * LINE) });
    await test.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: many(3 * LINE) });
    const call = { source: 'Product', token: null };
    const [first, second, own] = [new HeldObjects(), new HeldObjects(), new HeldObjects()];
    expect(await readAll(await test.tidemark.devices.snapshot(ada, call), first)).toEqual(Array(9).fill(1));
    expect(await readAll(await test.tidemark.devices.snapshot(bob, call), second)).toEqual([4, 4, 1]);
    for (const held of [first, second]) await heldIs(held, test, 'Product');
    for (let time = 0; time < 2; time++) {
      const snapshot = await test.tidemark.devices.snapshot(ada, { source: 'Order', token: null });
      expect(await readAll(snapshot, own)).toEqual([1, 1, 1]);
    }
    await heldIs(own, test, 'Order', 'ada');
  });

  it.each(['Product', 'Order'])(
    '[SNAP-3] a snapshot of %s is complete at its end, whatever is written between its pages',
    async (source) => {
      const test = await newTidemark({ limits });
      const device = await newDevice(test);
      const user = source === 'Order' ? { user_id: 'ada' } : {};
      await test.tidemark.objects.push({ source, ...user, objects: many(9 * LINE) });
      // The pages are in the cache for the next reader.
      await readAll(await test.tidemark.devices.snapshot(device, { source, token: null }), new HeldObjects());
      const held = new HeldObjects();
      const snapshot = await test.tidemark.devices.snapshot(device, { source, token: null });
      await next(snapshot, held);
      await test.tidemark.objects.push({ source, ...user, objects: { o3: { n: 'changed' }, o80: { n: 'changed' } } });
      await test.tidemark.objects.pushDeletes({ source, ...user, objects: ['o4', 'o81'] });
      await readAll(snapshot, held);
      await heldIs(held, test, source, user.user_id);
    },
  );

  it.each(['Product', 'Order'])('[SNAP-3] a snapshot of %s ends when its source gets a new epoch', async (source) => {
    const test = await newTidemark({ limits });
    const device = await newDevice(test);
    const user = source === 'Order' ? { user_id: 'ada' } : {};
    const partition_type = source === 'Order' ? 'user' : 'app';
    await test.tidemark.objects.push({ source, ...user, objects: many(9 * LINE) });
    const held = new HeldObjects();
    const snapshot = await test.tidemark.devices.snapshot(device, { source, token: null });
    await next(snapshot, held);
    await test.tidemark.sources.drop(source);
    await test.tidemark.sources.declare({ name: source, partition_type });
    await test.tidemark.objects.push({ source, ...user, objects: many(5, 1_000) });
    await readAll(snapshot, held);
    await heldIs(held, test, source, user.user_id);
    // What was sent of one epoch is not recorded as sent of the other.
    const partition = { source, owner: readOwner(user.user_id ?? null) };
    expect(await test.store.readTidemark(partition, device.client)).toBeNull();
  });

  it.each(['Product', 'Order'])(
    '[SNAP-3] a snapshot of %s has at most one line of a new epoch, which starts over',
    async (source) => {
      const test = await newTidemark({ limits });
      const device = await newDevice(test);
      const user = source === 'Order' ? { user_id: 'ada' } : {};
      const partition_type = source === 'Order' ? 'user' : 'app';
      await test.tidemark.objects.push({ source, ...user, objects: many(9 * LINE) });
      const held = new HeldObjects();
      const snapshot = await test.tidemark.devices.snapshot(device, { source, token: null });
      await next(snapshot, held);
      await test.tidemark.sources.drop(source);
      await test.tidemark.sources.declare({ name: source, partition_type });
      await test.tidemark.objects.push({ source, ...user, objects: many(9 * LINE, 1_000) });
      expect(await readAll(snapshot, held)).toEqual([1]);
      const rest = await test.tidemark.devices.snapshot(device, { source, token: held.token });
      await readAll(rest, held);
      await heldIs(held, test, source, user.user_id);
    },
  );

  it('[SNAP-7] a snapshot of a device that was deleted meanwhile ends before its next line', async () => {
    const test = await newTidemark({ limits });
    const device = await newDevice(test);
    await test.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: many(9 * LINE) });
    const snapshot = await test.tidemark.devices.snapshot(device, { source: 'Order', token: null });
    await next(snapshot, new HeldObjects());
    await test.tidemark.clients.delete('ada', device.client);
    expect(await refusalOf(snapshot.next())).toBe('client_not_found');
  });

  describe('of a group', () => {
    async function withGroup() {
      const test = await newTidemark({ limits });
      const device = await newDevice(test);
      await test.tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
      await test.tidemark.groups.set('ada', ['north']);
      await test.tidemark.objects.push({ source: 'Visit', group: 'north', objects: many(3 * LINE) });
      const begin = () => test.tidemark.devices.snapshot(device, { source: 'Visit', group: 'north', token: null });
      return { ...test, begin };
    }

    /** Removes ada from the group when the next page has been read. */
    function leaveAfterRead({ store, tidemark }: TestTidemark): void {
      const { readJoined } = store;
      store.readJoined = async (...call) => {
        store.readJoined = readJoined;
        const slice = await readJoined.apply(store, call);
        await tidemark.groups.remove('ada', ['north']);
        return slice;
      };
    }

    it('[SNAP-10] a snapshot is refused when the user leaves the group while its first line is read', async () => {
      const test = await withGroup();
      leaveAfterRead(test);
      expect(await refusalOf(test.begin())).toBe('not_a_member');
    });

    it('[SNAP-10] a snapshot ends before a line during whose reading the user left the group', async () => {
      const test = await withGroup();
      const snapshot = await test.begin();
      expect((await next(snapshot, new HeldObjects()))?.length).toBe(1);
      leaveAfterRead(test);
      expect(await next(snapshot, new HeldObjects())).toBeNull();
    });
  });
});
