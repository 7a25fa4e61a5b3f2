import { readToken } from '@tidemark/core';
import { newTidemark, pullPage, startValkey } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openValkeyStore } from './open-store.ts';

interface Page {
  readonly token: string;
  readonly more: boolean;
  readonly reset?: boolean;
  readonly put?: Readonly<Record<string, unknown>>;
}

it('[VALKEY-5] [PAGE-17] after a loss of writes the devices that had seen them start over, and all others go on', async () => {
  const server = await startValkey({ settings: { appendonly: 'no' } });
  let ready = () => undefined as undefined;
  const store = await openValkeyStore({
    address: server.address,
    onEvent: ({ kind }) => (kind === 'back' ? ready() : undefined),
  });
  onTestFinished(async () => {
    await store.close();
    await server.remove();
  });
  const { tidemark } = await newTidemark({ store });
  for (const client of ['early', 'late', 'half']) await tidemark.clients.register('ada', { client_id: client });
  const push = (objects: object) => tidemark.objects.push({ source: 'Product', objects });
  const pull = async (client: string, token: string | null, objectsMax = 100): Promise<Page> => {
    const { json, noted } = await pullPage(tidemark, { user: 'ada', client }, { source: 'Product', token, objectsMax });
    await noted;
    return JSON.parse(json) as Page;
  };

  await push({ 1: { a: 1 } });
  const early = await pull('early', null);
  await push({ 5: { a: 1 } });
  await push({ 6: { a: 1 } });
  await server.call('SAVE');
  await push({ 2: { a: 1 }, 5: { a: 2 } });
  const late = await pull('late', null);
  // Object 5 is behind the page at this moment, and before it in the state that is left.
  const half = await pull('half', early.token, 1);
  expect([Object.keys(half.put ?? {}), half.more]).toEqual([['6'], true]);
  await server.kill();
  const again = new Promise<void>((resolve) => {
    ready = () => resolve() as undefined;
  });
  await server.restart();
  await again;
  // Another change gets the lost seq, and the head passes what the device with the lost write has seen.
  await push({ 3: { a: 1 }, 4: { a: 1 }, 7: { a: 1 } });
  expect(readToken(late.token)?.seq).toBe(5);

  const goesOn = await pull('early', early.token);
  expect([goesOn.reset, Object.keys(goesOn.put ?? {})]).toEqual([undefined, ['3', '4', '5', '6', '7']]);
  const startsOver = await pull('late', late.token);
  const all = ['1', '3', '4', '5', '6', '7'];
  expect([startsOver.reset, Object.keys(startsOver.put ?? {})]).toEqual([true, all]);
  const halfWay = await pull('half', half.token);
  expect([halfWay.reset, Object.keys(halfWay.put ?? {})]).toEqual([true, all]);
  expect(await pull('late', startsOver.token)).toMatchObject({ token: startsOver.token });
});
