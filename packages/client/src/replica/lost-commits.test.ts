import { type LocalRow, memoryStore } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { expect, it } from 'vitest';

const onServer = async ({ tidemark }: DeviceFixture) =>
  Object.fromEntries(await tidemark.objects.read({ source: 'Order', user_id: 'ada' }));

/** Makes changes that reach the server. Returns what the store had before they were sent. */
async function rowsBeforeSending(fixture: DeviceFixture): Promise<readonly LocalRow[]> {
  const kept = memoryStore();
  const device = await fixture.open({ store: { ...kept, close: async () => undefined } });
  const orders = device.source('Order');
  await fixture.finish(device.sync());
  fixture.platform.setOnline(false);
  await orders.create({ n: 1 }, { id: 'a' });
  await orders.create({ n: 1 }, { id: 'b' });
  await orders.update('a', { n: 2 });
  const rows = await kept.load();
  fixture.platform.setOnline(true);
  await fixture.finish(device.sync());
  await orders.update('a', { n: 3 });
  await orders.delete('b');
  await fixture.finish(device.sync());
  // Long enough for acknowledgements, after which the server need not keep the outcomes.
  await fixture.platform.advance(120_000);
  await fixture.finish(device.sync());
  await fixture.finish(device.close());
  return rows;
}

it('[SDK-28] a device whose store has lost its last commits sends changes again without applying one twice, and converges', async () => {
  const fixture = await newDeviceFixture();
  const rows = await rowsBeforeSending(fixture);
  const device = await fixture.open({ store: memoryStore(rows), user: null });
  expect(device.source('Order').get('a')?.attributes).toEqual({ n: 2 });
  await fixture.finish(device.sync());
  expect(await onServer(fixture)).toEqual({ a: { n: 3 } });
  expect(device.source('Order').list()).toEqual([{ id: 'a', attributes: { n: 3 }, isPending: false }]);
  expect(device.status.getSnapshot()).toMatchObject({ pendingUploads: 0, problems: 0, heals: 0, error: null });
});

it('[SDK-28] a device whose store has lost everything is signed out, and fetches everything after a sign-in', async () => {
  const fixture = await newDeviceFixture();
  await rowsBeforeSending(fixture);
  const device = await fixture.open({ store: memoryStore([]), user: null });
  expect(device.status.getSnapshot()).toMatchObject({
    mode: 'signed_out',
    userId: null,
    sessionEnd: null,
    error: null,
  });
  await expect(device.source('Order').create({ n: 1 })).rejects.toMatchObject({ code: 'signed_out' });
  await fixture.finish(device.signIn({ login: 'ada', password: 'long enough' }));
  await fixture.finish(device.sync());
  expect(device.source('Order').list()).toEqual([{ id: 'a', attributes: { n: 3 }, isPending: false }]);
  await fixture.finish(device.source('Order').update('a', { n: 4 }));
  await fixture.finish(device.sync());
  expect(await onServer(fixture)).toEqual({ a: { n: 4 } });
});
