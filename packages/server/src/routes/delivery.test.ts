import type { Page, PullAnswer } from '@tidemark/protocol';
import { Caller, makeUser, openDevice, type TestDevice } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

let server: Awaited<ReturnType<typeof startTestServer>>;
let admin: Caller;
let device: TestDevice;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  await makeUser(server, 'ada');
  device = await openDevice(server, 'ada');
  await admin.post('/rc/v1/sources', { name: 'Order' });
});
afterAll(async () => {
  admin.close();
  device.api.close();
  await server.close();
});

const push = (objects: object) => admin.post('/app/v1/Order/push_objects', { user_id: 'ada', objects });
const pull = async (token: string | null) => {
  const { body } = await device.api.post('/sync/v1/pull', { client_id: device.id, sources: { Order: { token } } });
  return (body as PullAnswer).sources.Order as Page;
};
const ofDevice = (path: string) => admin.get(`/rc/v1/clients/${device.id}${path}`);
const explain = (object: string) => ofDevice(`/sources/Order/objects/${encodeURIComponent(object)}/explain`);

it('[EXPLAIN-7] [EXPLAIN-3] the routes show a device that was sent everything and did not acknowledge it as unconfirmed', async () => {
  await push({ 1: { a: 1 }, 'a/b?': { a: 1 } });
  expect(await explain('1')).toMatchObject({ status: 200, body: { verdict: 'never_synced' } });
  expect(await ofDevice('/sync')).toMatchObject({
    status: 200,
    body: { sources: [{ source: 'Order', acknowledged: null, head: 2, waiting: null, last_pull: null }] },
  });
  const first = await pull(null);
  // A device that is killed here holds the page, and nobody knows.
  const { body } = await explain('1');
  // The pull is recorded after it was answered.
  expect(['never_synced', 'unconfirmed']).toContain((body as { verdict: string }).verdict);
  expect(await ofDevice('/sync')).toMatchObject({ body: { sources: [{ acknowledged: null, head: 2 }] } });
  await device.api.post('/sync/v1/ack', { client_id: device.id, sources: { Order: first.token } });
  expect(await explain('a/b?')).toMatchObject({ body: { verdict: 'current', evidence: { acknowledged: 2, head: 2 } } });
  await push({ 1: { b: 2 } });
  expect(await explain('1')).toMatchObject({ body: { verdict: 'behind', attributes: ['b'] } });
  expect(await ofDevice('/sync')).toMatchObject({ body: { sources: [{ acknowledged: 2, head: 3, waiting: 1 }] } });
  const pending = await ofDevice('/sources/Order/pending');
  expect(pending).toMatchObject({ status: 200, body: { more: false, patch: { 1: { b: 2 } } } });
  expect(await ofDevice('/sources/Order/pending')).toEqual({ ...pending, headers: expect.anything() });
  expect(await pull(first.token)).toEqual(pending.body);
});

it('[EXPLAIN-6] a device is online while its event stream is open', async () => {
  const isOnline = async () => ((await ofDevice('/sync')).body as { readonly online: boolean }).online;
  expect(await isOnline()).toBe(false);
  const events = await device.listen();
  expect(await isOnline()).toBe(true);
  await events.close();
  await expect.poll(isOnline, { timeout: 60_000 }).toBe(false);
});

it('[EXPLAIN-3] an unknown device or source is refused, and so is the token of a device', async () => {
  for (const path of ['/rc/v1/clients/nobody/sync', `/rc/v1/clients/${device.id}/sources/Nothing/pending`]) {
    expect(await admin.get(path)).toMatchObject({ status: 404 });
  }
  expect(await device.api.get(`/rc/v1/clients/${device.id}/sync`)).toMatchObject({ status: 403 });
});

it('[METRICS-5] a device that starts over because of its checksum is counted', async () => {
  const sources = { Order: { mismatch: true }, Nothing: { mismatch: true } };
  expect(await device.api.post('/sync/v1/pull', { client_id: device.id, sources })).toMatchObject({ status: 200 });
  const { text } = await admin.get('/metrics');
  const lines = text.split('\n').filter((line) => line.startsWith('tidemark_checksum_mismatches_total{'));
  expect(lines).toEqual(['tidemark_checksum_mismatches_total{source="Order"} 1']);
});

it('[METRICS-6] the size of the embedded store, its writes and its flushes are measured', async () => {
  const { text } = await admin.get('/metrics');
  expect(text).toMatch(/^tidemark_store_bytes [1-9]\d*$/m);
  expect(text).toMatch(/^tidemark_write_seconds_count [1-9]\d*$/m);
  expect(text).toMatch(/^tidemark_store_flush_seconds_count [1-9]\d*$/m);
  expect(text).not.toContain('tidemark_valkey_memory_bytes ');
});
