import type { Device } from '@tidemark/client';
import { type DeviceWorld, newDeviceWorld } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';

let world: DeviceWorld;

beforeEach(async () => {
  world = await newDeviceWorld();
  await world.tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
});

const push = (group: string, objects: Record<string, Record<string, unknown>>) =>
  world.tidemark.pushObjects({ source: 'Visit', group, objects });

const onServer = async (group: string) =>
  Object.fromEntries(await world.tidemark.readObjects({ source: 'Visit', group }));

const seen = (device: Device) =>
  Object.fromEntries(
    device
      .source('Visit')
      .list()
      .map(({ id, attributes }) => [id, attributes]),
  );

async function opened(groups: readonly string[]): Promise<Device> {
  await world.tidemark.groups.set('ada', groups);
  const device = await world.open({ sources: ['Visit'] });
  await world.finish(device.sync());
  return device;
}

it('[GROUP-22] a change made after the device follows another group goes to the object of that group', async () => {
  await push('north', { x: { a: 'north' } });
  await push('south', { x: { a: 'south' } });
  const device = await opened(['north', 'south']);
  world.platform.setOnline(false);
  const visits = device.source<Record<string, unknown>>('Visit');
  await visits.update('x', { note: 'for north' });
  await visits.follow({ groups: ['south'] });
  await visits.update('x', { a: 'for south' });
  world.platform.setOnline(true);
  await world.finish(device.sync());
  expect(await onServer('north')).toEqual({ x: { a: 'north', note: 'for north' } });
  expect(await onServer('south')).toEqual({ x: { a: 'for south' } });
  expect(seen(device)).toEqual({ x: { a: 'for south' } });
});
