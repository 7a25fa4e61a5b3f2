import type { Page } from '@tidemark/protocol';
import { newTidemark, pullPage } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { userPartition } from '../ports/owner.ts';

const DEVICE = { user: 'ada', client: 'phone' };
const ORDERS = userPartition('Order', 'ada');

it('[TIDE-1] a device that was deleted and registered again under its id is recorded at its next pull', async () => {
  const { tidemark, store } = await newTidemark();
  const register = () => tidemark.clients.register('ada', { client_id: 'phone' });
  const pull = async (token: string | null): Promise<string> => {
    const { json, noted } = await pullPage(tidemark, DEVICE, { source: 'Order', token });
    await noted;
    return (JSON.parse(json) as Page).token;
  };
  await register();
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 1: { a: 1 } } });
  const token = await pull(await pull(null));
  const mark = await store.readTidemark(ORDERS, 'phone');
  expect(mark).toMatchObject({ seq: 1, base: 1 });
  await tidemark.clients.delete('ada', 'phone');
  await register();
  expect(await store.readTidemark(ORDERS, 'phone')).toBeNull();
  await pull(token);
  expect(await store.readTidemark(ORDERS, 'phone')).toEqual(mark);
});
