import { once } from 'node:events';
import { connect } from 'node:net';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished, vi } from 'vitest';
import { FAILED_LOGINS_PER_ADDRESS_MAX, FAILED_LOGINS_WINDOW_MS } from './limits.ts';

it('a server reports the address it listens at', async () => {
  const running = await startTestServer();
  expect(running.url).toMatch(/^http:\/\/127\.0\.0\.1:[1-9][0-9]*$/);
  expect((await fetch(`${running.url}/healthz`)).status).toBe(200);
  await running.close();
  await expect(fetch(`${running.url}/healthz`)).rejects.toThrow();
});

it('an idle kept-alive connection does not delay the stop', async () => {
  const running = await startTestServer({ shutdownGraceMs: 3_600_000 });
  await (await fetch(`${running.url}/healthz`)).text();
  // The grace period is far longer than the time-out of this test.
  await running.close();
});

it('a request that never ends is cut off after the grace period', async () => {
  const running = await startTestServer({ shutdownGraceMs: 50 });
  const socket = connect(Number(new URL(running.url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write('POST /healthz HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n');
  await once(socket, 'connect');
  // The socket ends or is reset, depending on the version of Node.js; `once` would take a reset for a failure.
  const cutOff = new Promise<void>((resolve) => socket.on('close', () => resolve()));
  await running.close();
  await cutOff;
});

it('[STATS-10] a server has measured its users and clients after the start', async () => {
  const running = await startTestServer();
  const headers = { 'x-sync-api-token': running.token };
  const read = async (metric: string) =>
    (await fetch(`${running.url}/rc/v1/system/stats?metric=${metric}`, { headers })).json();
  await expect.poll(() => read('users')).toMatchObject([{ min: 1, max: 1 }]);
  await expect.poll(() => read('clients')).toMatchObject([{ min: 0, max: 0 }]);
  await running.close();
});

it('[CLOCK-4] a server whose clock is set back by a day does not lock logins for a day', async () => {
  // Only the time of day is replaced: timers and the steady clock stay real.
  vi.useFakeTimers({ toFake: ['Date'] });
  onTestFinished(() => void vi.useRealTimers());
  const running = await startTestServer();
  onTestFinished(() => running.close());
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ login: 'admin', password: 'wrong' });
  const logIn = () => fetch(`${running.url}/rc/v1/system/login`, { method: 'POST', headers, body });
  for (let count = 0; count < FAILED_LOGINS_PER_ADDRESS_MAX; count++) expect((await logIn()).status).toBe(401);
  vi.setSystemTime(Date.now() - 86_400_000);
  const refused = await logIn();
  expect(refused.status).toBe(429);
  expect(Number(refused.headers.get('retry-after')) * 1_000).toBeLessThanOrEqual(FAILED_LOGINS_WINDOW_MS);
});
