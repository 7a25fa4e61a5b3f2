import { Refusal } from '@tidemark/protocol';
import { Type } from '@tidemark/protocol/typebox';
import { newTidemark } from '@tidemark/testing';
import { expect, it, onTestFinished } from 'vitest';
import { openLog } from '../logging/open-log.ts';
import { addServiceRoutes } from '../routes/service.ts';
import { sourceRoutes } from '../routes/sources.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { addRoute } from './add-route.ts';
import { buildHttp } from './app.ts';
import { type RouteContext, route } from './route.ts';

it('[LOG-3] the log entry of a failed request carries the request id that the caller got', async () => {
  const written: string[] = [];
  const { logger } = openLog({ level: 'error', format: 'json', stream: { write: (text) => written.push(text) } });
  const failing = route({
    method: 'GET',
    path: '/fail',
    operationId: 'test',
    scope: 'public',
    summary: 'Fails deep inside',
    answer: Type.Object({}),
    handle: () => Promise.reject(new Error('a bug')),
  });
  // A public route without audit uses nothing of the context.
  const app = await buildHttp({ bodyBytesMax: 1_000, logger }, (http) => addRoute(http, {} as RouteContext, failing));
  onTestFinished(() => app.close());
  const { headers, body } = await app.inject({ method: 'GET', url: '/fail' });
  const requestId = headers['x-request-id'];
  expect(JSON.parse(body)).toMatchObject({ code: 'internal', request_id: requestId });
  expect(JSON.parse(written.join(''))).toMatchObject({ event: 'a request failed', request_id: requestId });
});

it('[REST-34] a change is answered as made when only its audit entry could not be written', async () => {
  const { tidemark, store, clock } = await newTidemark();
  const written: string[] = [];
  const { logger } = openLog({ level: 'error', format: 'json', stream: { write: (text) => written.push(text) } });
  const writeEntries = store.writeEntries.bind(store);
  store.writeEntries = async (batch) => {
    if (batch.writes.some(({ kind }) => kind === 'audit')) throw new Refusal('store_full', 'the disk is full');
    return writeEntries(batch);
  };
  const context = {
    tidemark,
    nowMs: clock.nowMs,
    metrics: new Metrics(),
    cluster: { announce: () => undefined },
    rates: { take: () => null },
  } as unknown as RouteContext;
  const app = await buildHttp({ bodyBytesMax: 1_000, logger }, (http) => {
    addServiceRoutes(http, context, { dataFolder: '.', isMetricsPublic: true, isReady: () => true });
    for (const one of sourceRoutes) addRoute(http, context, one);
  });
  onTestFinished(() => app.close());
  await tidemark.users.createAdmin({ login: 'admin', password: 'long enough' });
  const { token } = await tidemark.tokens.issue({ user: 'admin', scopes: ['admin'], expiresAtMs: null });
  const declare = () =>
    app.inject({
      method: 'POST',
      url: '/rc/v1/sources',
      headers: { 'x-sync-api-token': token },
      payload: { name: 'New' },
    });
  const made = await declare();
  expect([made.statusCode, await tidemark.sources.has('New')]).toEqual([200, true]);
  const refused = await declare();
  expect([refused.statusCode, refused.json().code]).toEqual([409, 'source_exists']);
  const lines = written.map((line) => JSON.parse(line));
  const fact = {
    level: 'error',
    event: 'audit_not_written',
    actor: 'admin',
    action: 'source.declare',
    target: '/rc/v1/sources',
  };
  expect(lines).toMatchObject([
    { ...fact, result: 'ok', request_id: made.headers['x-request-id'] },
    { ...fact, result: 'source_exists', request_id: refused.headers['x-request-id'] },
  ]);
  expect((await app.inject({ url: '/metrics' })).body).toContain('\ntidemark_audit_missing_total 2\n');
});
