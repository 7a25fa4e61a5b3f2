import { type LocalRow, memoryStore } from '@tidemark/client';
import { type DeviceWorld, newDeviceWorld } from '@tidemark/testing';
import { expect, it } from 'vitest';

const onServer = async ({ tidemark }: DeviceWorld) =>
  Object.fromEntries(await tidemark.objects.read({ source: 'Order', user_id: 'ada' }));

/** Makes changes that reach the server. Returns what the store had before they were sent. */
async function rowsBeforeSending(world: DeviceWorld): Promise<readonly LocalRow[]> {
  const kept = memoryStore();
  const device = await world.open({ store: { ...kept, close: async () => undefined } });
  const orders = device.source('Order');
  await world.finish(device.sync());
  world.platform.setOnline(false);
  await orders.create({ n: 1 }, { id: 'a' });
  await orders.create({ n: 1 }, { id: 'b' });
  await orders.update('a', { n: 2 });
  const rows = await kept.load();
  world.platform.setOnline(true);
  await world.finish(device.sync());
  await orders.update('a', { n: 3 });
  await orders.delete('b');
  await world.finish(device.sync());
  // Long enough for acknowledgements, after which the server need not keep the outcomes.
  await world.platform.advance(120_000);
  await world.finish(device.sync());
  await world.finish(device.close());
  return rows;
}

it('[SDK-28] a device whose store has lost its last commits sends changes again without applying one twice, and converges', async () => {
  const world = await newDeviceWorld();
  const rows = await rowsBeforeSending(world);
  const device = await world.open({ store: memoryStore(rows), user: null });
  expect(device.source('Order').get('a')?.attributes).toEqual({ n: 2 });
  await world.finish(device.sync());
  expect(await onServer(world)).toEqual({ a: { n: 3 } });
  expect(device.source('Order').list()).toEqual([{ id: 'a', attributes: { n: 3 }, isPending: false }]);
  expect(device.status.getSnapshot()).toMatchObject({ pendingUploads: 0, problems: 0, heals: 0, error: null });
});

it('[SDK-28] a device whose store has lost everything is signed out, and fetches everything after a sign-in', async () => {
  const world = await newDeviceWorld();
  await rowsBeforeSending(world);
  const device = await world.open({ store: memoryStore([]), user: null });
  expect(device.status.getSnapshot()).toMatchObject({
    mode: 'signed_out',
    userId: null,
    sessionEnd: null,
    error: null,
  });
  await expect(device.source('Order').create({ n: 1 })).rejects.toMatchObject({ code: 'signed_out' });
  await world.finish(device.signIn({ login: 'ada', password: 'long enough' }));
  await world.finish(device.sync());
  expect(device.source('Order').list()).toEqual([{ id: 'a', attributes: { n: 3 }, isPending: false }]);
  await world.finish(device.source('Order').update('a', { n: 4 }));
  await world.finish(device.sync());
  expect(await onServer(world)).toEqual({ a: { n: 4 } });
});
