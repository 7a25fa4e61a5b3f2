import { sharedPartition, userPartition } from '@tidemark/core';
import type { AckRequest } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { ACKNOWLEDGE_EVERY_MS, ACKNOWLEDGE_LIVE_SPREAD_MS, ACKNOWLEDGE_MS_MAX } from '../limits.ts';
import { memoryStore } from '../stores/memory-store.ts';

const ORDERS = userPartition('Order', 'ada');

const push = (fixture: DeviceFixture, n: number) =>
  fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { n } } });

async function acknowledgedBase(fixture: DeviceFixture, client: string | null): Promise<number | null | undefined> {
  return (await fixture.tidemark.store.readTidemark(ORDERS, client ?? ''))?.base;
}

it('[SDK-18] after a catch-up the server knows what the device holds, without another pull', async () => {
  const fixture = await newDeviceFixture();
  await push(fixture, 1);
  const device = await fixture.open({ sources: ['Order'] });
  await fixture.platform.until(() => fixture.sync.count('/ack') === 1, 'acknowledged');
  expect(await acknowledgedBase(fixture, device.status.getSnapshot().clientId)).toBe(1);
  const pulls = fixture.sync.count('/pull');
  await push(fixture, 2);
  await fixture.finish(device.sync());
  await fixture.platform.until(() => fixture.sync.count('/ack') === 2, 'acknowledged again');
  expect(await acknowledgedBase(fixture, device.status.getSnapshot().clientId)).toBe(2);
  expect(fixture.sync.count('/pull')).toBe(pulls + 1);
});

it('[SDK-18] catch-ups that bring nothing are not acknowledged', async () => {
  const fixture = await newDeviceFixture();
  await push(fixture, 1);
  const device = await fixture.open({ sources: ['Order'] });
  await fixture.platform.until(() => fixture.sync.count('/ack') === 1, 'acknowledged');
  for (let times = 0; times < 3; times++) await fixture.finish(device.sync());
  await fixture.platform.advance(2 * ACKNOWLEDGE_EVERY_MS);
  expect(fixture.sync.count('/ack')).toBe(1);
});

it('[SDK-18] catch-ups in quick succession are acknowledged together, at most once a second', async () => {
  const fixture = await newDeviceFixture();
  const device = await fixture.open({ sources: ['Order', 'Product'], pollMs: 100 });
  const sentAtMs: number[] = [];
  fixture.intercept = ({ path }) => {
    if (path === '/ack') sentAtMs.push(fixture.platform.nowMs());
    return undefined;
  };
  for (let n = 1; n <= 5; n++) {
    await push(fixture, n);
    await fixture.tidemark.objects.push({ source: 'Product', objects: { 1: { n } } });
    await fixture.platform.until(() => device.source('Product').get('1')?.attributes.n === n);
  }
  const ids = async () => {
    const shared = sharedPartition('Product');
    const products = await fixture.tidemark.store.readTidemark(shared, device.status.getSnapshot().clientId ?? '');
    return [await acknowledgedBase(fixture, device.status.getSnapshot().clientId), products?.base];
  };
  await fixture.platform.advance(2 * ACKNOWLEDGE_EVERY_MS);
  expect(await ids()).toEqual([5, 5]);
  const gaps = sentAtMs.slice(1).map((atMs, index) => atMs - (sentAtMs[index] ?? 0));
  for (const gap of gaps) expect(gap).toBeGreaterThanOrEqual(ACKNOWLEDGE_EVERY_MS);
});

it('[SDK-18] an acknowledgement that is lost delays nothing, and the next pull makes up for it', async () => {
  const fixture = await newDeviceFixture();
  await push(fixture, 1);
  let lost = 0;
  fixture.intercept = ({ path }) => {
    if (path !== '/ack') return undefined;
    lost++;
    return Promise.reject(new TypeError('the connection broke'));
  };
  const device = await fixture.open({ sources: ['Order'] });
  await fixture.platform.until(() => lost === 1, 'an acknowledgement was lost');
  expect(await acknowledgedBase(fixture, device.status.getSnapshot().clientId)).toBeNull();
  expect(device.status.getSnapshot().error).toBeNull();
  await fixture.finish(device.sync());
  expect(await acknowledgedBase(fixture, device.status.getSnapshot().clientId)).toBe(1);
});

it('[SDK-18] a server without the call is not called again in this session', async () => {
  const fixture = await newDeviceFixture();
  let calls = 0;
  fixture.intercept = ({ path }) => {
    if (path !== '/ack') return undefined;
    calls++;
    return Promise.resolve(Response.json({ status: 404, code: 'not_found', detail: 'no route' }, { status: 404 }));
  };
  const device = await fixture.open({ sources: ['Order'] });
  for (let n = 1; n <= 3; n++) {
    await push(fixture, n);
    await fixture.finish(device.sync());
    await fixture.platform.advance(2 * ACKNOWLEDGE_EVERY_MS);
  }
  expect(calls).toBe(1);
});

it('[SDK-18] the token of a catch-up that is not complete is never sent as an acknowledgement', async () => {
  const fixture = await newDeviceFixture();
  await fixture.tidemark.objects.push({
    source: 'Order',
    user_id: 'ada',
    objects: { 1: {}, 2: { a: 1 }, 3: { a: 1 } },
  });
  const sent: AckRequest[] = [];
  const pages: string[] = [];
  fixture.intercept = ({ path, body }, go) => {
    if (path === '/ack') sent.push(body as AckRequest);
    if (path !== '/pull') return undefined;
    return go().then(async (response) => {
      const answer = (await response.json()) as { sources: { Order: { token: string; more: boolean } } };
      if (!answer.sources.Order.more) pages.push(answer.sources.Order.token);
      return Response.json(answer);
    });
  };
  await fixture.open({ sources: ['Order'], pageObjects: 1 });
  await fixture.platform.until(() => sent.length > 0, 'acknowledged');
  expect(sent.map(({ sources }) => sources.Order)).toEqual([pages.at(-1)]);
});

it('[SDK-18] pages that come with events are acknowledged together, at a random moment within ten seconds', async () => {
  const fixture = await newDeviceFixture();
  fixture.sync.sendsPages = true;
  await push(fixture, 0);
  const device = await fixture.open({ sources: ['Order'], live: true });
  const status = () => device.status.getSnapshot();
  await fixture.platform.until(() => status().isLive && status().mode === 'idle' && fixture.sync.count('/ack') === 1);
  await fixture.platform.advance(ACKNOWLEDGE_EVERY_MS);
  const pulls = fixture.sync.count('/pull');
  for (let n = 1; n <= 20; n++) {
    await push(fixture, n);
    await fixture.platform.until(() => device.source('Order').get('1')?.attributes.n === n);
  }
  expect(fixture.sync.count('/ack')).toBe(1);
  await fixture.platform.advance(ACKNOWLEDGE_LIVE_SPREAD_MS);
  expect([fixture.sync.count('/ack'), fixture.sync.count('/pull')]).toEqual([2, pulls]);
  expect(await acknowledgedBase(fixture, status().clientId)).toBe(21);
});

it('[SDK-18] a device without a network does not try to acknowledge', async () => {
  const fixture = await newDeviceFixture();
  await push(fixture, 1);
  const device = await fixture.open({ sources: ['Order'], pollMs: 100 });
  await fixture.platform.until(() => fixture.sync.count('/ack') === 1, 'acknowledged');
  await push(fixture, 2);
  await fixture.platform.until(() => device.source('Order').get('1')?.attributes.n === 2);
  device.goOffline();
  await fixture.platform.advance(2 * ACKNOWLEDGE_EVERY_MS);
  expect(fixture.sync.count('/ack')).toBe(1);
  device.goOnline();
  await fixture.finish(device.sync());
  expect(await acknowledgedBase(fixture, device.status.getSnapshot().clientId)).toBe(2);
});

it('[SDK-32] sync() acknowledges what it brought before it resolves, however often it is called', async () => {
  const fixture = await newDeviceFixture();
  const device = await fixture.open({ sources: ['Order'] });
  const { clientId } = device.status.getSnapshot();
  for (let n = 1; n <= 3; n++) {
    await push(fixture, n);
    await fixture.finish(device.sync());
    expect(await acknowledgedBase(fixture, clientId)).toBe(n);
  }
});

it('[SDK-32] close() acknowledges what came since the last acknowledgement', async () => {
  const fixture = await newDeviceFixture();
  await push(fixture, 1);
  const device = await fixture.open({ sources: ['Order'], pollMs: 100 });
  const { clientId } = device.status.getSnapshot();
  await fixture.platform.until(() => fixture.sync.count('/ack') === 1, 'acknowledged');
  await push(fixture, 2);
  await fixture.platform.until(() => device.source('Order').get('1')?.attributes.n === 2);
  expect(await acknowledgedBase(fixture, clientId)).toBe(1);
  await fixture.finish(device.close());
  expect(await acknowledgedBase(fixture, clientId)).toBe(2);
});

it('[SDK-32] sync() and close() wait for an acknowledgement that hangs, but no longer than ACKNOWLEDGE_MS_MAX', async () => {
  const fixture = await newDeviceFixture();
  await push(fixture, 1);
  const device = await fixture.open({ sources: ['Order'] });
  await fixture.platform.until(() => fixture.sync.count('/ack') === 1, 'acknowledged');
  let aborted = 0;
  fixture.intercept = ({ path }, _, init) => {
    if (path !== '/ack') return undefined;
    init.signal?.addEventListener('abort', () => aborted++);
    return fixture.platform.hang(init);
  };
  await push(fixture, 2);
  const startedMs = fixture.platform.nowMs();
  await fixture.finish(device.sync());
  expect([fixture.platform.nowMs() - startedMs, aborted]).toEqual([ACKNOWLEDGE_MS_MAX, 0]);
  await fixture.finish(device.close());
  expect([fixture.platform.nowMs() - startedMs, aborted]).toEqual([2 * ACKNOWLEDGE_MS_MAX, 1]);
});

it('[SDK-32] close() of a device that is offline sends nothing and waits for nothing', async () => {
  const fixture = await newDeviceFixture();
  await push(fixture, 1);
  const device = await fixture.open({ sources: ['Order'], pollMs: 100 });
  await fixture.platform.until(() => fixture.sync.count('/ack') === 1, 'acknowledged');
  await push(fixture, 2);
  await fixture.platform.until(() => device.source('Order').get('1')?.attributes.n === 2);
  device.goOffline();
  await device.close();
  expect(fixture.sync.count('/ack')).toBe(1);
});

it('[SDK-18] a device killed between storing the last page and acknowledging it is not counted as delivered', async () => {
  const fixture = await newDeviceFixture();
  await push(fixture, 1);
  const store = memoryStore();
  const killed = await fixture.open({ sources: ['Order'], store });
  await fixture.platform.until(() => fixture.sync.count('/ack') === 1, 'acknowledged');
  await push(fixture, 2);
  fixture.intercept = ({ path }, _, init) => (path === '/ack' ? fixture.platform.hang(init) : undefined);
  await fixture.finish(killed.sync());
  const receipt = () => fixture.tidemark.receipts.read({ source: 'Order', user_id: 'ada' });
  expect(killed.source('Order').get('1')).toMatchObject({ attributes: { n: 2 } });
  expect(await receipt()).toMatchObject({ seq: 2, delivered: 0, behind: 1 });
  // What is on the disk at this moment is all that is left of the device.
  const rows = await store.load();
  const restarted = await fixture.open({ sources: ['Order'], store: memoryStore(rows), user: null });
  expect(restarted.source('Order').get('1')).toMatchObject({ attributes: { n: 2 } });
  expect(await receipt()).toMatchObject({ delivered: 0, behind: 1 });
  fixture.intercept = () => undefined;
  await fixture.finish(restarted.sync());
  expect(await receipt()).toMatchObject({ delivered: 1, behind: 0 });
});
