import { type Page, type PullAnswer, RECEIPT_WAIT_S_MAX, type WriteReport } from '@tidemark/protocol';
import { Caller, makeUser, openDevice } from '@tidemark/testing';
import { startTestServer } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

it('[RECEIPT-5] a script pushes, and waits until the device has acknowledged', async () => {
  const server = await startTestServer();
  const admin = new Caller(server.url, server.token);
  onTestFinished(async () => {
    admin.close();
    await server.close();
  });
  await makeUser(server, 'anna');
  const { api, id } = await openDevice(server, 'anna');
  await admin.post('/rc/v1/sources', { name: 'Product', partition_type: 'app' });
  const push = async (objects: object) =>
    (await admin.post('/app/v1/Product/push_objects', { objects })).body as WriteReport;
  const pull = async (token: string | null) => {
    const reply = await api.post('/sync/v1/pull', { client_id: id, sources: { Product: { token } } });
    return (reply.body as PullAnswer).sources.Product as Page;
  };
  await push({ 1: { a: 1 } });
  const { token } = await pull(null);
  const acknowledge = (held: string) => api.post('/sync/v1/ack', { client_id: id, sources: { Product: held } });
  await acknowledge(token);
  const { seq } = await push({ 2: { a: 1 } });
  const next = await pull(token);
  const path = '/rc/v1/sources/Product/receipts';
  expect(await admin.get(`${path}?seq=${seq}`)).toMatchObject({
    status: 200,
    body: { seq: 2, head: 2, devices: 1, delivered: 0, behind: 1, behind_devices: [{ client_id: id, missing: 1 }] },
  });
  const waiting = admin.get(`${path}?seq=${seq}&wait_s=${RECEIPT_WAIT_S_MAX}`);
  await acknowledge(next.token);
  expect(await waiting).toMatchObject({ status: 200, body: { seq: 2, delivered: 1, behind: 0, behind_devices: [] } });
  for (const query of [`wait_s=${RECEIPT_WAIT_S_MAX + 1}`, 'seq=x', 'limit=0']) {
    expect(await admin.get(`${path}?${query}`)).toMatchObject({ status: 400 });
  }
  expect(await admin.get(`${path}?seq=3`)).toMatchObject({ status: 422 });
});
