import { Caller, makeUser, openDevice } from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const APP = 'https://app.example';
let server: TestServer;
let caller: Caller;

beforeAll(async () => {
  const { devices } = testConfig('/nowhere');
  server = await startTestServer({ devices: { ...devices, origins: [APP, 'http://localhost:5173'] } });
  caller = new Caller(server.url, server.token);
  await makeUser(server, 'anna');
});

afterAll(async () => {
  caller.close();
  await server.close();
});

function ask(path: string, origin: string, headers: Readonly<Record<string, string>> = {}) {
  const asked = { origin, 'access-control-request-method': 'POST', ...headers };
  return caller.send({ method: 'OPTIONS', path, headers: asked, body: null });
}

function corsOf(headers: Readonly<Record<string, unknown>>): readonly string[] {
  return Object.keys(headers).filter((name) => name.startsWith('access-control-'));
}

describe('pages of other sites', () => {
  it('[CORS-1] scripts of a configured origin may call the routes for devices after a preflight', async () => {
    for (const origin of [APP, 'http://localhost:5173']) {
      const { status, headers, text } = await ask('/sync/v1/pull', origin);
      expect({ status, text }).toEqual({ status: 204, text: '' });
      expect(headers).toMatchObject({
        'access-control-allow-origin': origin,
        'access-control-allow-methods': 'DELETE, GET, HEAD, PATCH, POST, PUT',
        'access-control-allow-headers':
          'authorization, content-type, accept, range, if-range, tus-resumable, upload-length, upload-metadata, upload-offset, upload-checksum',
        'access-control-max-age': '600',
        vary: 'origin',
      });
      expect(headers['access-control-allow-credentials']).toBeUndefined();
    }
  });

  it('[CORS-1] scripts of a configured origin may read answers, refusals and events', async () => {
    const { api, listen } = await openDevice(server, 'anna');
    const allowed = {
      'access-control-allow-origin': APP,
      'access-control-expose-headers':
        'ratelimit, ratelimit-policy, retry-after, x-request-id, location, etag, content-range, tus-resumable, upload-length, upload-offset, upload-expires',
    };
    const { id } = await openDevice(server, 'anna');
    const good = await api.post('/sync/v1/token', {}, { origin: APP });
    expect(good).toMatchObject({ status: 200, headers: allowed });
    const refused = await api.send({
      method: 'DELETE',
      path: `/sync/v1/clients/${id}`,
      headers: { origin: APP },
      body: null,
    });
    expect(refused).toMatchObject({ status: 404, headers: allowed });
    const unauthorised = await caller.post('/sync/v1/push', {}, { origin: APP });
    expect(unauthorised).toMatchObject({ status: 403, headers: allowed });
    const nothing = await api.get('/sync/v1/nothing', { origin: APP });
    expect(nothing).toMatchObject({ status: 404, headers: allowed });
    const events = await listen({ headers: { origin: APP } });
    expect(events.headers).toMatchObject({ ...allowed, 'content-type': 'text/event-stream; charset=utf-8' });
  });

  it.each([
    'https://evil.example',
    'null',
    'https://app.example.evil.example',
    'https://app.example:443',
    'http://app.example',
    'https://APP.example',
    'https://app.example/',
    '*',
    '',
  ])('[CORS-2] scripts of another origin, such as %j, get no permission', async (origin) => {
    const asked = await ask('/sync/v1/pull', origin);
    expect(asked.status).toBe(405);
    const called = await caller.get('/sync/v1/sources', { origin });
    expect([corsOf(asked.headers), corsOf(called.headers), called.headers.vary]).toEqual([[], [], 'origin']);
  });

  it.each([
    '/rc/v1/users',
    '/rc/v1/system/login',
    '/app/v1/Product/push_objects',
    '/metrics',
    '/openapi.json',
    '/healthz',
    '//sync/v1/pull',
    '/SYNC/v1/pull',
    '/x/sync/v1/pull',
  ])('[CORS-2] no origin gets permission for %s', async (path) => {
    expect(corsOf((await ask(path, APP)).headers)).toEqual([]);
    expect(corsOf((await caller.get(path, { origin: APP })).headers)).toEqual([]);
  });

  it('[CORS-2] without configured origins no script gets permission', async () => {
    const closed = await startTestServer();
    const other = new Caller(closed.url, closed.token);
    const asked = await other.send({
      method: 'OPTIONS',
      path: '/sync/v1/pull',
      headers: { origin: APP, 'access-control-request-method': 'POST' },
      body: null,
    });
    expect([asked.status, corsOf(asked.headers)]).toEqual([405, []]);
    other.close();
    await closed.close();
  });
});
