import type { LoggedCall } from '@tidemark/client';
import { newDeviceFixture } from '@tidemark/testing';
import { expect, it, vi } from 'vitest';
import { CALLS_LOGGED_MAX } from '../limits.ts';

const SECRET = 'nobody may read this';

async function setUp() {
  const fixture = await newDeviceFixture();
  await fixture.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { 'secret-id': { text: SECRET } } });
  const calls: LoggedCall[] = [];
  const device = await fixture.open({ log: (call) => calls.push(call) });
  await fixture.finish(device.sync());
  fixture.platform.setOnline(false);
  await device.source('Order').create({ text: SECRET }, { id: 'secret-id-2' });
  return { fixture, device, calls };
}

it('[DEBUG-1] a report tells status, sources, uploads and calls, and nothing of the data or the token', async () => {
  const { device } = await setUp();
  const report = await device.debug();
  expect(report).toMatchObject({
    status: { mode: 'offline', userId: null, pendingUploads: 1, sourceTroubles: {} },
    sources: expect.arrayContaining([
      expect.objectContaining({ name: 'Order', partitionType: 'user', objects: 2, hasToken: true, stagedPages: 0 }),
    ]),
    uploads: [{ source: 'Order', op: 'create', state: 'waiting' }],
    problems: [],
  });
  expect(report.calls[0]).toMatchObject({ method: 'POST', path: '/sync/v1/login', status: 200 });
  const text = JSON.stringify(report);
  for (const hidden of [SECRET, 'secret-id', 'ada', 'long enough', 'token-0-']) expect(text).not.toContain(hidden);
  await device.close();
});

it('[DEBUG-1] a report has the data if the app asks for it, but never a token', async () => {
  const { device } = await setUp();
  const report = await device.debug({ includeData: true });
  expect(report.status.userId).toBe('ada');
  expect(report.data?.Order).toEqual({ 'secret-id': { text: SECRET }, 'secret-id-2': { text: SECRET } });
  expect(JSON.stringify(report)).not.toContain('token-0-');
  await device.close();
});

it('[DEBUG-2] the log of an app gets every call to the server without bodies, and the last calls are kept', async () => {
  const { fixture, device, calls } = await setUp();
  fixture.platform.setOnline(true);
  for (let round = 0; round < CALLS_LOGGED_MAX; round++) await fixture.finish(device.sync());
  expect(calls.length).toBeGreaterThan(CALLS_LOGGED_MAX);
  await vi.waitFor(async () => expect((await device.debug()).calls).toEqual(calls.slice(-CALLS_LOGGED_MAX)));
  expect(Object.keys(calls[0] ?? {}).sort()).toEqual(['atMs', 'method', 'path', 'status', 'tookMs']);
  await device.close();
});
