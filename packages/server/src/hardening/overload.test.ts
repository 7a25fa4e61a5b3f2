import { Caller, sendRaw } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

const BLOCK_MS = 100;

/** Keeps the event loop busy in blocks of a tenth of a second until it is stopped. */
function hogEventLoop(): () => void {
  let isHogging = true;
  const hog = () => {
    if (!isHogging) return;
    const until = performance.now() + BLOCK_MS;
    while (performance.now() < until);
    setImmediate(hog);
  };
  setImmediate(hog);
  return () => {
    isHogging = false;
  };
}

it('[HARD-69] an overloaded server refuses requests before their body, and its readiness says so', async () => {
  // The bound is set later, because the start of a server can block the event loop, too.
  const overload = { eventLoopDelayMsMax: Number.POSITIVE_INFINITY, heapPercentMax: 100, rssBytesMax: 0 };
  const server = await startTestServer({ overload });
  onTestFinished(server.close);
  const admin = new Caller(server.url, server.token);
  onTestFinished(() => admin.close());
  expect((await admin.get('/rc/v1/users')).status).toBe(200);

  overload.eventLoopDelayMsMax = BLOCK_MS / 2;
  const stop = hogEventLoop();
  onTestFinished(stop);
  let reply = await admin.get('/rc/v1/users');
  while (reply.status === 200) reply = await admin.get('/rc/v1/users');
  expect([reply.status, reply.code, reply.headers['retry-after']]).toEqual([503, 'overloaded', '2']);

  const head = [
    'POST /rc/v1/store/x HTTP/1.1',
    'host: x',
    'connection: close',
    'content-type: application/json',
    'content-length: 5000000',
    `x-sync-api-token: ${server.token}`,
  ];
  // The answer comes although no body is sent.
  expect(await sendRaw(server.port, `${head.join('\r\n')}\r\n\r\n`)).toMatch(
    /^HTTP\/1\.1 503 [\s\S]*"code":"overloaded"/,
  );

  expect((await admin.get('/healthz')).status).toBe(200);
  expect((await admin.get('/metrics')).status).toBe(200);
  const readiness = await admin.get('/readyz');
  expect(readiness.status).toBe(503);
  expect(readiness.body).toMatchObject({ status: 'not_ready' });
  expect((readiness.body as { checks: { name: string; ok: boolean }[] }).checks.filter(({ ok }) => !ok)).toEqual([
    { name: 'load', ok: false, detail: 'the server is overloaded' },
  ]);

  stop();
  while (reply.status === 503) reply = await admin.get('/rc/v1/users');
  expect(reply.status).toBe(200);
});
