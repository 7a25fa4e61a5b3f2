import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { answerJson, Caller, EventReader, makeUser, openDevice, openFakeBackend } from '@tidemark/testing';
import { startTestServer, testConfig } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

it('[FRESH-14] [FRESH-15] a pull does not wait for a slow backend, and an event tells the device when its data has arrived', async () => {
  const backendSettings = { ...testConfig('.').backend, secret: 'a secret of the test', pullWaitMs: 1 };
  const server = await startTestServer({ backend: backendSettings });
  const backend = await openFakeBackend(() => 'a secret of the test');
  const admin = new Caller(server.url, server.token);
  let asked: (response: ServerResponse) => void = () => undefined;
  const query = new Promise<ServerResponse>((resolve) => {
    asked = resolve;
  });
  backend.on('query', (_, response) => asked(response));
  backend.on('authenticate', (_, response) => answerJson(response, { user_id: 'anna' }));
  try {
    await admin.post('/rc/v1/system/appserver', { adapter_url: backend.url });
    await admin.post('/rc/v1/sources', { name: 'Slow', partition_type: 'app', adapter: 'backend', poll_interval: 0 });
    await admin.post('/rc/v1/sources', { name: 'Quick', partition_type: 'app' });
    await admin.post('/app/v1/Quick/push_objects', { objects: { q: { n: 1 } } });
    await makeUser(server, 'anna');
    const anna = await openDevice(server, 'anna');
    const events = await EventReader.open(server.url, anna.session.token);
    expect((await events.next())?.name).toBe('ready');
    const pull = () => anna.api.post('/sync/v1/pull', { client_id: anna.id, sources: { Slow: {}, Quick: {} } });
    expect((await pull()).body).toMatchObject({
      sources: {
        Slow: { more: false, size: 0, error: { code: 'refresh_pending', retry_after_s: expect.any(Number) } },
        Quick: { put: { q: { n: 1 } } },
      },
    });
    answerJson(await query, { s: { n: 2 } });
    let told = await events.next();
    expect(told).toEqual({ name: 'changed', data: { source: 'Slow' } });
    // The first event is about the commit, the last one comes when the refresh has ended.
    for (let pulls = 0; pulls < 3; pulls++) {
      const { sources } = (await pull()).body as { sources: { Slow: { put: unknown; error?: unknown } } };
      expect(sources.Slow.put).toEqual({ s: { n: 2 } });
      if (sources.Slow.error === undefined) break;
      told = await events.next();
      expect(told?.name).toBe('changed');
    }
    expect(backend.callsOf('query')).toHaveLength(1);
    events.close();
  } finally {
    await backend.close();
    admin.close();
    await server.close();
  }
});

it('[REST-42] a server that stops ends the connection of a query that the backend has not answered', async () => {
  // The query would go on for longer than any test.
  const settings = { ...testConfig('.').backend, secret: 'a secret', pullWaitMs: 1, queryTimeoutMs: 3_600_000 };
  const server = await startTestServer({ backend: settings });
  const backend = await openFakeBackend(() => 'a secret');
  const admin = new Caller(server.url, server.token);
  onTestFinished(async () => {
    admin.close();
    await backend.close();
  });
  let asked: (response: ServerResponse) => void = () => undefined;
  const query = new Promise<ServerResponse>((resolve) => {
    asked = resolve;
  });
  backend.on('query', (_, response) => asked(response));
  backend.on('authenticate', (_, response) => answerJson(response, { user_id: 'anna' }));
  await admin.post('/rc/v1/system/appserver', { adapter_url: backend.url });
  await admin.post('/rc/v1/sources', { name: 'Slow', partition_type: 'app', adapter: 'backend', poll_interval: 0 });
  await makeUser(server, 'anna');
  const anna = await openDevice(server, 'anna');
  await anna.api.post('/sync/v1/pull', { client_id: anna.id, sources: { Slow: {} } });
  const closed = once(await query, 'close');
  await server.close();
  await closed;
});
