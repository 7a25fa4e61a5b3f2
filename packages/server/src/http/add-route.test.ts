import { Refusal } from '@tidemark/protocol';
import { newTidemark } from '@tidemark/testing';
import { Type } from 'typebox';
import { expect, it, onTestFinished } from 'vitest';
import { openLog } from '../logging/open-log.ts';
import { Metrics } from '../metrics.ts';
import { addServiceRoutes } from '../routes/service.ts';
import { sourceRoutes } from '../routes/sources.ts';
import { addRoute } from './add-route.ts';
import { buildHttp } from './app.ts';
import { type Desk, route } from './route.ts';

it('[LOG-3] what is logged while a route does its work carries the id of the request', async () => {
  const written: string[] = [];
  const stream = { write: (text: string) => written.push(text) };
  const log = openLog({ level: 'info', format: 'json', stream });
  const talking = route({
    method: 'GET',
    path: '/talk',
    scope: 'public',
    summary: 'Logs a line deep inside',
    answer: Type.Object({}),
    handle: async () => {
      await Promise.resolve();
      log.info('deep_inside');
      return {};
    },
  });
  // A public route without audit asks nothing of the desk.
  const app = await buildHttp({ bodyBytesMax: 1_000 }, (http) => addRoute(http, {} as Desk, talking));
  onTestFinished(() => app.close());
  const { headers } = await app.inject({ method: 'GET', url: '/talk' });
  expect(JSON.parse(written.join(''))).toMatchObject({ event: 'deep_inside', request_id: headers['x-request-id'] });
});

it('[REST-34] a change is answered as made when only its entry in the audit trail is missing', async () => {
  const { tidemark, store, clock } = await newTidemark();
  const written: string[] = [];
  const { logger } = openLog({ level: 'error', format: 'json', stream: { write: (text) => written.push(text) } });
  const writeEntries = store.writeEntries.bind(store);
  store.writeEntries = async (batch) => {
    if (batch.writes.some(({ kind }) => kind === 'audit')) throw new Refusal('store_full', 'the disk is full');
    return writeEntries(batch);
  };
  const desk = { tidemark, nowMs: clock.nowMs, metrics: new Metrics() } as unknown as Desk;
  const app = await buildHttp({ bodyBytesMax: 1_000, logger }, (http) => {
    addServiceRoutes(http, desk, { dataFolder: '.', isMetricsPublic: true, isReady: () => true });
    for (const one of sourceRoutes) addRoute(http, desk, one);
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
