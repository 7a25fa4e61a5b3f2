import type { Device } from '@tidemark/client';
import type { PushAnswer } from '@tidemark/protocol';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
  await fixture.tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
});

const push = (group: string, objects: Record<string, Record<string, unknown>>) =>
  fixture.tidemark.objects.push({ source: 'Visit', group, objects });

const onServer = async (group: string) =>
  Object.fromEntries(await fixture.tidemark.objects.read({ source: 'Visit', group }));

const seen = (device: Device) =>
  Object.fromEntries(
    device
      .source('Visit')
      .list()
      .map(({ id, attributes }) => [id, attributes]),
  );

async function opened(groups: readonly string[]): Promise<Device> {
  await fixture.tidemark.groups.set('ada', groups);
  const device = await fixture.open({ sources: ['Visit'] });
  await fixture.finish(device.sync());
  return device;
}

async function queued(answer: Response): Promise<Response> {
  const { outcomes } = (await answer.json()) as PushAnswer;
  return Response.json({ outcomes: outcomes.map((outcome) => ({ ...outcome, status: 'queued' })) });
}

it('[GROUP-22] a change made after the device follows another group goes to the object of that group', async () => {
  await push('north', { x: { a: 'north' } });
  await push('south', { x: { a: 'south' } });
  const device = await opened(['north', 'south']);
  fixture.platform.setOnline(false);
  const visits = device.source<Record<string, unknown>>('Visit');
  await visits.update('x', { note: 'for north' });
  await visits.follow({ groups: ['south'] });
  await visits.update('x', { a: 'for south' });
  fixture.platform.setOnline(true);
  await fixture.finish(device.sync());
  expect(await onServer('north')).toEqual({ x: { a: 'north', note: 'for north' } });
  expect(await onServer('south')).toEqual({ x: { a: 'for south' } });
  expect(seen(device)).toEqual({ x: { a: 'for south' } });
});

it('[GROUP-22] a create made before the first pull, whose group only the server knows, gets its outcome from a backend that was down', async () => {
  await fixture.tidemark.groups.set('ada', ['north']);
  let isReachable = false;
  fixture.intercept = ({ path }, go) => {
    if (path === '/login') return undefined;
    if (!isReachable) return Promise.reject(new TypeError('no network'));
    // The answer to the push says that the backend has not been asked yet.
    return path === '/push' ? go().then(queued) : undefined;
  };
  const device = await fixture.open({ sources: ['Visit'] });
  await device.source<Record<string, unknown>>('Visit').create({ a: 1 }, { id: 'x' });
  isReachable = true;
  await fixture.finish(device.sync());
  await fixture.finish(device.sync());
  expect(device.uploads.list()).toEqual([]);
  expect([seen(device), await onServer('north')]).toEqual([{ x: { a: 1 } }, { x: { a: 1 } }]);
});

it('[GROUP-22] a new object of a user who is in no group is refused at once, and accepted when the user is in one', async () => {
  const device = await opened([]);
  const visits = device.source<Record<string, unknown>>('Visit');
  await expect(visits.create({ a: 1 }, { id: 'x' })).rejects.toMatchObject({ code: 'group_required' });
  expect(seen(device)).toEqual({});
  await fixture.tidemark.groups.set('ada', ['north']);
  await visits.create({ a: 1 }, { id: 'x', group: 'north' });
  await fixture.finish(device.sync());
  await visits.create({ a: 2 }, { id: 'y' });
  await fixture.finish(device.sync());
  expect(await onServer('north')).toEqual({ x: { a: 1 }, y: { a: 2 } });
});

it('[GROUP-22] an answer about a group that the device has dropped and follows again meanwhile is ignored, and the group is pulled whole', async () => {
  await push('north', { x: { a: 'north' } });
  await push('south', { y: { a: 'south' }, z: { a: 'south', b: 1 } });
  const device = await opened(['north', 'south']);
  const visits = device.source('Visit');
  const healed: unknown[] = [];
  device.on('healed', (event) => healed.push(event));
  await push('south', { z: { b: 2 } });
  let follows: Promise<unknown> | null = null;
  fixture.intercept = async ({ path }, go) => {
    const answer = await go();
    if (path !== '/pull' || follows !== null) return answer;
    follows = visits.follow({ groups: ['north'] }).then(() => visits.follow({ groups: null }));
    await follows;
    return answer;
  };
  await fixture.finish(device.sync());
  await fixture.finish(device.sync());
  expect(seen(device)).toEqual({ x: { a: 'north' }, y: { a: 'south' }, z: { a: 'south', b: 2 } });
  expect(healed).toEqual([]);
});
