import type { Device } from '@tidemark/client';
import type { PushAnswer, SyncEvents } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';

type Change = SyncEvents['changed'];

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  fixture.sync.sendsPages = true;
});

const push = (objects: Record<string, Record<string, unknown>>) =>
  fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects });

const status = (device: Device) => device.status.getSnapshot();
const idsOn = (device: Device) =>
  device
    .source('Order')
    .list()
    .map(({ id }) => id);
const pulls = () => fixture.sync.count('/pull');

async function listening(options: Parameters<DeviceFixture['open']>[0] = {}): Promise<Device> {
  const device = await fixture.open({ live: true, ...options });
  await fixture.platform.until(() => status(device).isLive && status(device).mode === 'idle');
  return device;
}

/** A device that holds one object, and from now on decides what becomes of each event. */
async function listeningWith(onChanged: (change: Change, send: (change: Change) => void, count: number) => void) {
  await push({ first: { a: 1 } });
  const device = await listening();
  let count = 0;
  fixture.sync.onChanged = (change, send) => onChanged(change, send, ++count);
  return device;
}

const until = (device: Device, ids: readonly string[]) =>
  fixture.platform.until(() => JSON.stringify(idsOn(device)) === JSON.stringify(ids), `${idsOn(device)} to be ${ids}`);

describe('pages that events carry', () => {
  it('[SDK-19] a page that begins where the device is is applied without a pull, and its token is the next one', async () => {
    const device = await listeningWith((change, send) => send(change));
    const before = pulls();
    await push({ second: { a: 1 }, first: { a: 2 } });
    await until(device, ['first', 'second']);
    await fixture.tidemark.objects.pushDeletes({ source: 'Order', user_id: 'ada', objects: ['first'] });
    await until(device, ['second']);
    expect([pulls(), status(device).heals]).toEqual([before, 0]);
    expect(status(device).lastSyncedAtMs).toBe(fixture.platform.nowMs());
    await fixture.finish(device.sync());
    expect(idsOn(device)).toEqual(['second']);
  });

  it('[SDK-19] a device that is one change behind pulls instead of applying the page', async () => {
    const device = await listeningWith((change, send, count) => {
      if (count > 1) send(change);
    });
    const before = pulls();
    await push({ lost: { a: 1 } });
    await push({ told: { a: 1 } });
    await until(device, ['first', 'lost', 'told']);
    expect([pulls() - before, status(device).heals]).toEqual([1, 0]);
  });

  it('[SDK-19] an event that comes twice, or after the change was pulled, changes nothing', async () => {
    const seen: Change[] = [];
    const device = await listeningWith((change, send) => {
      seen.push(change);
      for (const one of [...seen, change]) send(one);
    });
    const views: number[] = [];
    device.source('Order').subscribe(() => views.push(idsOn(device).length));
    await push({ second: { a: 1 } });
    await until(device, ['first', 'second']);
    await push({ third: { a: 1 } });
    await until(device, ['first', 'second', 'third']);
    await fixture.platform.until(() => status(device).mode === 'idle');
    expect([views, status(device).heals]).toEqual([[2, 3], 0]);
  });

  it('[SDK-19] events in the wrong order cost two pulls at most', async () => {
    let held: (() => void) | null = null;
    const device = await listeningWith((change, send) => {
      if (held === null) held = () => send(change);
      else {
        send(change);
        held();
      }
    });
    const before = pulls();
    await push({ second: { a: 1 } });
    await push({ third: { a: 1 } });
    await until(device, ['first', 'second', 'third']);
    await fixture.platform.until(() => status(device).mode === 'idle');
    expect([pulls() - before <= 2, status(device).heals]).toEqual([true, 0]);
  });

  it('[SDK-19] pages that come during a pull are applied after it, if it did not include them', async () => {
    const device = await listeningWith((change, send) => send(change));
    let count = 0;
    fixture.intercept = ({ path }, go) => {
      if (path !== '/pull' || ++count > 1) return undefined;
      return go().then(async (answer) => {
        for (const id of ['during', 'also']) await push({ [id]: { a: 1 } });
        for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
        return answer;
      });
    };
    await fixture.finish(device.sync());
    await until(device, ['also', 'during', 'first']);
    expect(count).toBe(1);
  });

  it('[SDK-19] an upload stays visible while a page comes that does not include it', async () => {
    const device = await listeningWith((change, send) => send(change));
    device.goOffline();
    device.goOnline();
    await fixture.platform.until(() => status(device).isLive && status(device).mode === 'idle');
    const views: string[][] = [];
    device.source('Order').subscribe(() => views.push([...idsOn(device)]));
    await fixture.finish(device.source('Order').create({ a: 1 }, { id: 'mine' }));
    await push({ theirs: { a: 1 } });
    await fixture.finish(device.sync());
    expect(idsOn(device).sort()).toEqual(['first', 'mine', 'theirs']);
    expect(views.every((ids) => ids.includes('mine'))).toBe(true);
    expect(device.uploads.list()).toEqual([]);
  });

  it('[UP-7] an upload whose outcome came with a pull does not hide what an event brings afterwards', async () => {
    await push({ x: { name: 'old' } });
    const device = await listening();
    // The answer to the push says that the backend has not been asked yet.
    fixture.intercept = ({ path }, go) =>
      path === '/push'
        ? go().then(async (answer) => {
            const { outcomes } = (await answer.json()) as PushAnswer;
            return Response.json({ outcomes: outcomes.map((outcome) => ({ ...outcome, status: 'queued' })) });
          })
        : undefined;
    await fixture.finish(device.source('Order').update('x', { name: 'mine' }));
    await fixture.platform.until(() => device.uploads.list().length === 0 && status(device).mode === 'idle');
    const before = pulls();
    await push({ x: { name: 'theirs' }, z: { name: 'new' } });
    await until(device, ['x', 'z']);
    expect(device.source('Order').get('x')?.attributes).toEqual({ name: 'theirs' });
    expect(pulls()).toBe(before);
  });

  it('[SDK-19] a page that does not lead to the checksum it names makes the source start over', async () => {
    const device = await listeningWith((change, send) =>
      send('page' in change ? { ...change, page: { ...change.page, checksum: 1 } } : change),
    );
    const healed: string[] = [];
    device.on('healed', ({ source }) => healed.push(source));
    await push({ second: { a: 1 } });
    await until(device, ['first', 'second']);
    expect([healed, status(device).heals]).toEqual([['Order'], 1]);
  });

  it('[SDK-19] a page that is none, or one of several, is taken as a hint', async () => {
    for (const page of [{ token: 't' }, 'none', null, { token: 't', more: true, size: 1 }, undefined]) {
      fixture = await newDeviceFixture();
      fixture.sync.sendsPages = true;
      const device = await listeningWith((change, send) => send({ ...change, page } as unknown as Change));
      const before = pulls();
      await push({ second: { a: 1 } });
      await until(device, ['first', 'second']);
      expect(pulls() - before).toBe(1);
    }
  });

  it('[SDK-19] a page of a source that the device does not sync is ignored', async () => {
    const device = await listening({ sources: ['Order'] });
    await fixture.tidemark.objects.push({ source: 'Product', objects: { p: { a: 1 } } });
    await push({ second: { a: 1 } });
    await until(device, ['second']);
    expect(device.source('Product').list()).toEqual([]);
  });
});
