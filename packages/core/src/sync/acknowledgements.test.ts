import { type Page, PULL_SOURCES_MAX } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import type { DeviceId } from '../devices/device-id.ts';
import { pageJson } from '../pages/render-page.ts';
import { groupPartition, sharedPartition } from '../ports/owner.ts';

const PRODUCTS = sharedPartition('Product');

async function newDevice({ tidemark }: TestTidemark, user = 'ada'): Promise<DeviceId> {
  return { user, client: (await tidemark.clients.register(user, {})).client_id };
}

async function pull({ tidemark }: TestTidemark, device: DeviceId, token: string | null, objectsMax = 100) {
  const answer = await tidemark.devices.pull(device, { sources: new Map([['Product', token]]), objectsMax });
  await answer.noted;
  const page = answer.pages[0]?.page;
  if (page === undefined || 'error' in page) throw new Error('the source has a page');
  return JSON.parse(pageJson(page.token, page.body)) as Page;
}

const acknowledge = ({ tidemark }: TestTidemark, device: DeviceId, token: string) =>
  tidemark.devices.acknowledge(device, new Map([['Product', token]]));

const push = ({ tidemark }: TestTidemark, ...ids: string[]) =>
  tidemark.objects.push({ source: 'Product', objects: Object.fromEntries(ids.map((id) => [id, { a: id }])) });

describe('acknowledging', () => {
  it('[DEVICE-14] an acknowledged token is recorded as a pull with it would, and told once to listeners', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await push(test, '1', '2');
    const events: unknown[] = [];
    test.tidemark.events.on('acknowledged', ({ client, partition, seq, previous }) =>
      events.push({ client, partition, seq, previous }),
    );
    const { token } = await pull(test, device, null);
    expect(events).toEqual([]);
    expect(await acknowledge(test, device, token)).toEqual(['Product']);
    await acknowledge(test, device, token);
    await pull(test, device, token);
    expect(events).toEqual([{ client: device.client, partition: PRODUCTS, seq: 2, previous: null }]);
    expect(await test.store.readTidemark(PRODUCTS, device.client)).toMatchObject({ seq: 2, base: 2, start: null });
    await push(test, '3');
    await acknowledge(test, device, (await pull(test, device, token)).token);
    expect(events[1]).toEqual({ client: device.client, partition: PRODUCTS, seq: 3, previous: 2 });
  });

  it('[DEVICE-14] a token from the middle of a catch-up does not acknowledge what its pages brought', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await push(test, '1', '2', '3');
    const events: unknown[] = [];
    test.tidemark.events.on('acknowledged', (acknowledgement) => events.push(acknowledgement));
    const { token } = await pull(test, device, null, 1);
    await acknowledge(test, device, token);
    expect(events).toEqual([]);
    expect(await test.store.readTidemark(PRODUCTS, device.client)).toMatchObject({ base: null, start: 3 });
  });

  it('[DEVICE-15] tokens that a pull would answer with a reset acknowledge nothing', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await push(test, '1');
    const { token } = await pull(test, device, null);
    await test.tidemark.devices.restart(device, ['Product']);
    const before = await test.store.readTidemark(PRODUCTS, device.client);
    for (const foreign of [token, 'rubbish']) expect(await acknowledge(test, device, foreign)).toEqual([]);
    expect(await test.tidemark.devices.acknowledge(device, new Map([['Nothing', token]]))).toEqual([]);
    expect(await test.store.readTidemark(PRODUCTS, device.client)).toEqual(before);
  });

  it('[DEVICE-15] a token of a source that was deleted and declared again acknowledges nothing', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await push(test, '1');
    const { token } = await pull(test, device, null);
    await test.tidemark.sources.drop('Product');
    await test.tidemark.sources.declare({ name: 'Product', partition_type: 'app' });
    await push(test, '1');
    expect(await acknowledge(test, device, token)).toEqual([]);
    expect(await test.store.readTidemark(PRODUCTS, device.client)).toBeNull();
  });

  it('[DEVICE-15] a device acknowledges nothing of a group that its user has left', async () => {
    const { tidemark, store } = await newTidemark();
    await tidemark.sources.declare({ name: 'Visit', partition_type: 'group' });
    const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
    await tidemark.groups.set('ada', ['north', 'south']);
    const held = new Map<string, string>();
    for (const group of ['north', 'south']) {
      await tidemark.objects.push({ source: 'Visit', group, objects: { 1: { a: 1 } } });
    }
    const { pages } = await tidemark.devices.pull(device, { sources: new Map([['Visit', { groups: new Map() }]]) });
    for (const { group, page } of pages) if (group !== null && 'token' in page) held.set(group, page.token);
    await tidemark.groups.set('ada', ['south']);
    expect(await tidemark.devices.acknowledge(device, new Map([['Visit', held]]))).toEqual(['Visit']);
    const seqIn = async (group: string) =>
      (await store.readTidemark(groupPartition('Visit', group), device.client))?.base ?? null;
    expect([held.size, await seqIn('north'), await seqIn('south')]).toEqual([2, null, 1]);
  });

  it('[DEVICE-15] a device acknowledges for itself only, and a bounded number of sources', async () => {
    const test = await newTidemark();
    const device = await newDevice(test);
    await push(test, '1');
    const { token } = await pull(test, device, null);
    expect(await refusalOf(acknowledge(test, { ...device, user: 'bob' }, token))).toBe('client_not_found');
    const tokens = (count: number) => new Map(Array.from({ length: count }, (_, index) => [`S${index}`, token]));
    expect(await test.tidemark.devices.acknowledge(device, tokens(PULL_SOURCES_MAX))).toEqual([]);
    const tooMany = test.tidemark.devices.acknowledge(device, tokens(PULL_SOURCES_MAX + 1));
    expect(await refusalOf(tooMany)).toBe('limit_exceeded');
  });
});
