import { expect, it } from 'vitest';
import { CallsInFlight } from './calls-in-flight.ts';

const LARGE = 200 * 2 ** 20;

it('[VALKEY-36] commands that wait for a reply are limited by their bytes, which are given back with the reply', async () => {
  const calls = new CallsInFlight(60_000, () => undefined);
  let reply = (): void => undefined;
  const first = calls.run(LARGE, () => new Promise<void>((resolve) => (reply = resolve)));
  await expect(calls.run(LARGE, async () => 'sent')).rejects.toMatchObject({ code: 'store_unavailable' });
  expect(await calls.run(1, async () => 'sent')).toBe('sent');
  reply();
  await first;
  expect([await calls.run(LARGE, async () => 'sent'), calls.extraMs]).toEqual(['sent', 0]);
});

it('[VALKEY-36] the bytes of a command that fails are given back, too', async () => {
  const calls = new CallsInFlight(60_000, () => undefined);
  const failed = calls.run(LARGE, () => Promise.reject(new Error('broken')));
  await expect(failed).rejects.toMatchObject({ code: 'store_unavailable' });
  expect([await calls.run(LARGE, async () => 'sent'), calls.extraMs]).toEqual(['sent', 0]);
});
