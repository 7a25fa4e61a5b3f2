import { newTidemark, refusalOf } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { userPartition } from '../ports/owner.ts';

const orders = { source: 'Order', user_id: 'ada' };
const text = (units: number) => ({ t: 'x'.repeat(units) });

describe('the quota', () => {
  it('[WRITE-20] a write beyond the quota of a user in a source is refused and changes nothing', async () => {
    const { tidemark } = await newTidemark({ limits: { userBytesMax: 1_000, sharedBytesMax: 2_000 } });
    await tidemark.objects.push({ ...orders, objects: { 1: text(400), 2: text(400) } });
    const before = await tidemark.objects.partition(orders);
    expect(await refusalOf(tidemark.objects.push({ ...orders, objects: { 3: text(400) } }))).toBe('quota_exceeded');
    expect(await refusalOf(tidemark.objects.fastInsert({ ...orders, objects: { 1: text(700) } }))).toBe(
      'quota_exceeded',
    );
    const answer = { 1: text(600), 2: text(600) };
    expect(await refusalOf(tidemark.objects.replace({ ...orders, objects: answer, since: null }))).toBe(
      'quota_exceeded',
    );
    expect(await tidemark.objects.partition(orders)).toEqual(before);
    await tidemark.objects.push({ ...orders, user_id: 'bob', objects: { 3: text(400) } });
    await tidemark.objects.push({ source: 'Product', objects: { 1: text(1_500) } });
    expect(await refusalOf(tidemark.objects.push({ source: 'Product', objects: { 2: text(1_500) } }))).toBe(
      'quota_exceeded',
    );
  });

  it('[WRITE-20] deletions, and writes that make the data smaller, are accepted beyond the quota', async () => {
    const { tidemark, store } = await newTidemark({ limits: { userBytesMax: 1_000 } });
    const record = `"big":${JSON.stringify(text(5_000))}`;
    await store.commit({
      partition: userPartition('Order', 'ada'),
      changes: [{ id: 'big', record, checksum: 1 }],
      guards: [],
    });
    await tidemark.objects.push({ ...orders, objects: { big: text(4_000) } });
    expect(await refusalOf(tidemark.objects.push({ ...orders, objects: { 1: text(1) } }))).toBe('quota_exceeded');
    await tidemark.objects.pushDeletes({ ...orders, objects: ['big'] });
    await tidemark.objects.push({ ...orders, objects: { 1: text(1) } });
  });

  it('[UPLOAD-14] creates of a device at its quota are rejected, and deletes are applied', async () => {
    const { tidemark } = await newTidemark({ limits: { userBytesMax: 1_000 } });
    const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
    await tidemark.objects.push({ ...orders, objects: { 1: text(900) } });
    const changes = [
      { op_id: 'a', source: 'Order', op: 'create', id: '2', attributes: text(500) },
      { op_id: 'b', source: 'Order', op: 'update', id: '1', attributes: { more: 'x'.repeat(500) } },
      { op_id: 'c', source: 'Order', op: 'delete', id: '3' },
    ] as const;
    const rejected = { status: 'rejected', error: { code: 'quota_exceeded' } };
    expect(await tidemark.devices.push(device, { changes })).toMatchObject([rejected, rejected, { status: 'applied' }]);
    const again = [
      { op_id: 'd', source: 'Order', op: 'delete', id: '1' },
      { op_id: 'e', source: 'Order', op: 'create', id: '2', attributes: text(500) },
    ] as const;
    expect(await tidemark.devices.push(device, { changes: again })).toMatchObject([
      { status: 'applied' },
      { status: 'applied' },
    ]);
  });

  it('[UPLOAD-19] an upload that was rejected for the quota is decided anew when it comes again', async () => {
    const { tidemark, store } = await newTidemark({ limits: { userBytesMax: 1_000 } });
    const device = { user: 'ada', client: (await tidemark.clients.register('ada', {})).client_id };
    await tidemark.objects.push({ ...orders, objects: { 1: text(900) } });
    const before = await store.bytes(userPartition('Order', 'ada'));
    const changes = [{ op_id: 'a', source: 'Order', op: 'create', id: '2', attributes: text(500) }] as const;
    expect(await tidemark.devices.push(device, { changes })).toMatchObject([
      { status: 'rejected', error: { code: 'quota_exceeded' } },
    ]);
    expect(await store.bytes(userPartition('Order', 'ada'))).toBe(before);
    await tidemark.objects.pushDeletes({ ...orders, objects: ['1'] });
    const applied = [{ op_id: 'a', source: 'Order', status: 'applied', id: '2' }];
    expect(await tidemark.devices.push(device, { changes })).toEqual(applied);
    expect(await tidemark.devices.push(device, { changes })).toEqual(applied);
  });
});
