import { type PullAnswer, readToken } from '@tidemark/core';
import { newTidemark, startValkey } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openValkeyStore } from './open-store.ts';

interface Page {
  readonly token: string;
  readonly reset?: boolean;
  readonly put?: Readonly<Record<string, unknown>>;
}

it('[VALKEY-5] after a loss of writes the devices that had seen them start over, and all others go on', async () => {
  const server = await startValkey({ settings: { appendonly: 'no' } });
  let ready = () => undefined as undefined;
  const store = await openValkeyStore({
    address: server.address,
    onEvent: ({ kind }) => (kind === 'ready' ? ready() : undefined),
  });
  onTestFinished(async () => {
    await store.close();
    await server.remove();
  });
  const { tidemark } = await newTidemark({ store });
  for (const client of ['early', 'late']) await tidemark.clients.register('ada', { client_id: client });
  const push = (objects: object) => tidemark.pushObjects({ source: 'Product', objects });
  const pull = async (client: string, token: string | null): Promise<Page> => {
    const answer: PullAnswer = await tidemark.pull({ source: 'Product', user_id: 'ada', client, token });
    await answer.noted;
    return JSON.parse(answer.json) as Page;
  };

  await push({ 1: { a: 1 } });
  const early = await pull('early', null);
  await server.call('SAVE');
  await push({ 2: { a: 1 } });
  const late = await pull('late', null);
  await server.kill();
  const again = new Promise<void>((resolve) => {
    ready = () => resolve() as undefined;
  });
  await server.restart();
  await again;
  // Another change gets the lost seq, and the head passes what the device with the lost write has seen.
  await push({ 3: { a: 1 }, 4: { a: 1 } });
  expect(readToken(late.token)?.seq).toBe(2);

  const goesOn = await pull('early', early.token);
  expect([goesOn.reset, Object.keys(goesOn.put ?? {})]).toEqual([undefined, ['3', '4']]);
  const startsOver = await pull('late', late.token);
  expect([startsOver.reset, Object.keys(startsOver.put ?? {})]).toEqual([true, ['1', '3', '4']]);
  expect(await pull('late', startsOver.token)).toMatchObject({ token: startsOver.token });
});
