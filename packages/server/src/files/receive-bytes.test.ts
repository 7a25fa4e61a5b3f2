import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { receiveBytes } from './receive-bytes.ts';

const STALL_MS = 60_000;
const alone = { signal: new AbortController().signal, touch: () => {} };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
});

afterEach(() => {
  vi.useRealTimers();
});

it('[FILES-41] a caller is not cut off while the storage of the files takes long', async () => {
  const bytes = receiveBytes(Readable.from([Buffer.from('a'), Buffer.from('b')]), alone, STALL_MS);
  expect(await bytes.next()).toMatchObject({ value: Buffer.from('a') });
  vi.advanceTimersByTime(2 * STALL_MS);
  expect(await bytes.next()).toMatchObject({ value: Buffer.from('b') });
  expect(await bytes.next()).toMatchObject({ done: true });
});

it('[FILES-41] a caller that sends nothing for long is cut off', async () => {
  const silent = new Readable({ read: () => {} });
  const next = receiveBytes(silent, alone, STALL_MS).next();
  vi.advanceTimersByTime(STALL_MS);
  await expect(next).rejects.toMatchObject({ code: 'request_timeout' });
});
