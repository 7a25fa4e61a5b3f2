import { Caller, type Library, openLibrary } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';

const PING = '/rc/v1/users/ping';

let server: TestServer;
let admin: Caller;
let library: Library;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  library = await openLibrary(server.folder);
  for (const login of ['anna', 'bob']) await library.tidemark.users.ensure(login);
});

afterAll(async () => {
  admin.close();
  await library.close();
  await server.close();
});

it('[HARD-47] a ping accepts one user as well as a list, and lists unknown users', async () => {
  expect((await admin.post(PING, { user_id: 'anna' })).body).toMatchObject({ users: 1, unknown_users: [] });
  expect((await admin.post(PING, { user_id: ['anna', 'eve'] })).body).toMatchObject({
    users: 1,
    unknown_users: ['eve'],
  });
});

it('[HARD-47] a ping accepts the largest allowed number of users, and refuses one more', async () => {
  const users = Array.from({ length: 1_000 }, (_, index) => `user ${index}`);
  expect((await admin.post(PING, { user_id: users })).status).toBe(200);
  expect(await admin.post(PING, { user_id: [...users, 'more'] })).toMatchObject({
    status: 422,
    code: 'limit_exceeded',
  });
});

it('[HARD-47] a ping to invalid users is refused', async () => {
  expect((await admin.post(PING, { user_id: '*' })).code).toBe('invalid_name');
  expect((await admin.post(PING, { user_id: ['__proto__'] })).code).toBe('invalid_name');
  for (const user_id of [null, 7, {}, [7], [['anna']], undefined]) {
    expect((await admin.post(PING, { user_id })).code).toBe('invalid_request');
  }
});

it.each([
  [{ message: 'x'.repeat(1_000_000) }, 'body_too_large'],
  [{ message: 'x'.repeat(4_097) }, 'body_too_large'],
  [{ message: 7 }, 'invalid_value'],
  [{ vibrate: 'x' }, 'invalid_value'],
  [{ vibrate: -1 }, 'invalid_value'],
  [{ vibrate: 1e9 }, 'invalid_value'],
  [{ badge: {} }, 'invalid_value'],
  [{ badge: 1.5 }, 'invalid_value'],
  [{ sound: [] }, 'invalid_value'],
  [{ sources: 'Nowhere' }, 'source_not_found'],
  [{ colour: 'red' }, 'invalid_request'],
])('[HARD-48] a ping with %j is refused', async (fields, code) => {
  expect((await admin.post(PING, { user_id: 'anna', ...fields })).code).toBe(code);
});

it('[HARD-49] a caller that exceeds the ping limit is refused, and others are not', async () => {
  const flooded = await startTestServer({ limits: { ...server.config.limits, pingsPerMinuteMax: 5 } });
  onTestFinished(() => flooded.close());
  const caller = new Caller(flooded.url, flooded.token);
  onTestFinished(() => caller.close());
  await caller.post('/rc/v1/users', { attributes: { login: 'anna', password: 'x' } });
  for (let count = 0; count < 5; count++) expect((await caller.post(PING, { user_id: 'anna' })).status).toBe(200);
  const sixth = await caller.post(PING, { user_id: 'anna' });
  expect([sixth.status, sixth.code]).toEqual([429, 'rate_limited']);
  expect(Number(sixth.headers['retry-after'])).toBeGreaterThan(0);
  expect((await caller.get('/rc/v1/users')).status).toBe(200);
});
