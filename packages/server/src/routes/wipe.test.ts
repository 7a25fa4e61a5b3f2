import type { DeviceSession } from '@tidemark/protocol';
import { Caller, deviceOf, EventReader, makeUser, openDevice, type TestDevice, USER_PASSWORD } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';

let server: TestServer;
let admin: Caller;
let door: Caller;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  door = new Caller(server.url, null);
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user' });
  await makeUser(server, 'anna');
});

afterAll(async () => {
  admin.close();
  door.close();
  await server.close();
});

const MOMENT = /^\d{4}-\d\d-\d\dT/;
const order = (id: string) => admin.post(`/rc/v1/clients/${id}/wipe`, {});
const stateOf = async (id: string) =>
  ((await admin.get(`/rc/v1/clients/${id}`)).body as { readonly wipe: unknown }).wipe;
const ordered = {
  ordered_at: expect.stringMatching(MOMENT),
  ordered_by: 'admin',
  confirmed_at: null,
  unsent_uploads: null,
};

async function everyCall({ api, id }: TestDevice): Promise<readonly (string | null)[]> {
  const change = { op_id: 'o', source: 'Order', op: 'create', id: 't', attributes: {} };
  const answers = [
    await api.get('/sync/v1/sources'),
    await api.post('/sync/v1/pull', { client_id: id, sources: { Order: {} } }),
    await api.post('/sync/v1/push', { client_id: id, changes: [change] }),
    await api.post('/sync/v1/ack', { client_id: id, sources: {} }),
    await api.get('/sync/v1/sources/Order/snapshot'),
    await api.post('/sync/v1/search', { source: 'Order', params: {} }),
    await api.get('/sync/v1/events'),
    await api.post('/sync/v1/token', {}),
    await api.delete('/sync/v1/token'),
    await api.post('/sync/v1/clients', {}),
    await api.put(`/sync/v1/clients/${id}`, {}),
    await api.delete(`/sync/v1/clients/${id}`),
    await api.post(`/sync/v1/clients/${id}/reset`, {}),
  ];
  return [...new Set(answers.map(({ status, code }) => `${status} ${code}`))];
}

it('[WIPE-1] the order to wipe a device is kept with the device, and repeating it changes nothing', async () => {
  const { id } = await openDevice(server, 'anna');
  expect(await stateOf(id)).toBeNull();
  expect(await order(id)).toMatchObject({ status: 200, body: ordered });
  const kept = await stateOf(id);
  expect(kept).toEqual(ordered);
  expect((await order(id)).body).toEqual(kept);
  expect(await order('nobody')).toMatchObject({ status: 404, code: 'client_not_found' });
  const { body } = await admin.get('/rc/v1/audit');
  expect(JSON.stringify(body)).toContain(`/rc/v1/clients/${id}/wipe`);
});

it('[WIPE-2] every call of a device that is to be wiped is refused with client_wiped', async () => {
  const device = await openDevice(server, 'anna');
  // A pull that is answered again byte by byte must not be answered from memory.
  const pull = () => device.api.post('/sync/v1/pull', { client_id: device.id, sources: { Order: {} } });
  for (let count = 0; count < 3; count++) expect((await pull()).status).toBe(200);
  await order(device.id);
  expect(await everyCall(device)).toEqual(['410 client_wiped']);
});

it('[WIPE-3] the stream of a listening device ends at once with client_wiped', async () => {
  const device = await openDevice(server, 'anna');
  const reader = await EventReader.open(server.url, device.session.token);
  onTestFinished(() => reader.close());
  expect((await reader.next())?.name).toBe('ready');
  await order(device.id);
  expect(await reader.next()).toEqual({ name: 'ended', data: { code: 'client_wiped' } });
});

it('[WIPE-4] the confirmation of a device is kept with the order, and ends its tokens', async () => {
  const device = await openDevice(server, 'anna');
  const confirm = (unsent_uploads: unknown) =>
    device.api.post(`/sync/v1/clients/${device.id}/wiped`, { unsent_uploads });
  await device.api.put(`/sync/v1/clients/${device.id}`, { device_type: 'live', device_pin: 'secret' });
  expect(await confirm(0)).toMatchObject({ status: 409, code: 'wipe_not_ordered' });
  await order(device.id);
  expect(await confirm(-1)).toMatchObject({ status: 400 });
  const done = { ...ordered, confirmed_at: expect.stringMatching(MOMENT), unsent_uploads: 3 };
  expect(await confirm(3)).toMatchObject({ status: 200, body: done });
  expect(await stateOf(device.id)).toEqual(done);
  expect(await confirm(3)).toMatchObject({ status: 401 });
  expect((await admin.get(`/rc/v1/clients/${device.id}`)).body).toMatchObject({ device_pin: null });
  expect((await order(device.id)).body).toEqual(done);
});

it('[WIPE-5] a login with the id of a device that is to be wiped says so, and its token confirms', async () => {
  const { id } = await openDevice(server, 'anna');
  await order(id);
  const logIn = () => door.post('/sync/v1/login', { login: 'anna', password: USER_PASSWORD, client: id });
  const session = (await logIn()).body as DeviceSession;
  expect(session).toMatchObject({ client_id: id, wipe: true });
  const device = deviceOf(server, session);
  expect(await everyCall(device)).toEqual(['410 client_wiped']);
  expect((await device.api.post(`/sync/v1/clients/${id}/wiped`, { unsent_uploads: 0 })).status).toBe(200);
  const again = (await logIn()).body as DeviceSession;
  expect(again.client_id).not.toBe(id);
  expect(again.wipe).toBeUndefined();
  expect((await deviceOf(server, again).api.get('/sync/v1/sources')).status).toBe(200);
});

it('[WIPE-6] only administrators order a wipe', async () => {
  const { id, api } = await openDevice(server, 'anna');
  expect(await api.post(`/rc/v1/clients/${id}/wipe`, {})).toMatchObject({ status: 403 });
  const { body } = await admin.post('/rc/v1/tokens', { name: 'reader', scopes: ['read', 'push'] });
  const reader = new Caller(server.url, (body as { readonly token: string }).token);
  onTestFinished(() => reader.close());
  expect(await reader.post(`/rc/v1/clients/${id}/wipe`, {})).toMatchObject({ status: 403 });
  expect(await stateOf(id)).toBeNull();
});

it('[WIPE-11] the token of a device that is to be wiped survives a new password, so that the device hears of the order', async () => {
  await makeUser(server, 'carla');
  const [lost, other] = [await openDevice(server, 'carla'), await openDevice(server, 'carla')];
  await order(lost.id);
  await admin.put('/rc/v1/users/carla', { attributes: { password: `${USER_PASSWORD} new` } });
  expect(await everyCall(lost)).toEqual(['410 client_wiped']);
  expect(await other.api.get('/sync/v1/sources')).toMatchObject({ status: 401, code: 'password_changed' });
  expect((await lost.api.post(`/sync/v1/clients/${lost.id}/wiped`, { unsent_uploads: 0 })).status).toBe(200);
  expect(await lost.api.get('/sync/v1/sources')).toMatchObject({ status: 401, code: 'token_invalid' });
});
