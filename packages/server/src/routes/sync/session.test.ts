import type { DeviceSession } from '@tidemark/protocol';
import { Caller, deviceOf, makeUser, openDevice, type TestDevice, USER_PASSWORD } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

let server: TestServer;
let admin: Caller;
let door: Caller;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  door = new Caller(server.url, null);
  for (const login of ['anna', 'bob']) await makeUser(server, login);
});

afterAll(async () => {
  admin.close();
  door.close();
  await server.close();
});

/** Returns the code of a call that needs only a valid token. */
async function refusalOf({ api, id }: TestDevice): Promise<string | null> {
  return (await api.put(`/sync/v1/clients/${id}`, {})).code;
}

async function renew(device: TestDevice): Promise<TestDevice> {
  // The order of tokens is known by the millisecond only.
  for (const nowMs = Date.now(); Date.now() === nowMs; );
  const { status, body } = await device.api.post('/sync/v1/token', {});
  expect(status).toBe(200);
  return deviceOf(server, body as DeviceSession);
}

describe('login', () => {
  it('[SYNC-1] a login returns a token for one user and one device, with its expiry', async () => {
    const { session, id } = await openDevice(server, 'anna');
    expect(session).toEqual({
      token: expect.stringMatching(/^tmk_/),
      user_id: 'anna',
      client_id: id,
      expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      generation: expect.any(Number),
    });
    const daysLeft = (Date.parse(session.expires_at) - Date.now()) / 86_400_000;
    expect(Math.round(daysLeft)).toBe(30);
    expect((await admin.get(`/rc/v1/clients/${id}`)).body).toMatchObject({ client_id: id, user_id: 'anna' });
  });

  it('[SESSION-9] logins and renewals name the generation of the user, which another user of the same login does not have', async () => {
    await makeUser(server, 'twice');
    const [first, again] = [await openDevice(server, 'twice'), await openDevice(server, 'twice')];
    const renewed = (await first.api.post('/sync/v1/token', {})).body as DeviceSession;
    const { generation } = first.session;
    expect([generation, again.session.generation, renewed.generation]).toEqual(Array(3).fill(expect.any(Number)));
    expect([again.session.generation, renewed.generation]).toEqual([generation, generation]);
    expect((await admin.delete('/rc/v1/users/twice')).status).toBe(200);
    await makeUser(server, 'twice');
    expect((await openDevice(server, 'twice')).session.generation).not.toBe(generation);
  });

  it('[SYNC-1] a device keeps its id; an unknown, invalid or foreign id is replaced by a new one', async () => {
    const first = await openDevice(server, 'anna');
    expect((await openDevice(server, 'anna', first.id)).id).toBe(first.id);
    const ofBob = await openDevice(server, 'bob');
    const others = [ofBob.id, 'unknown', '', '*', '__proto__', 'x'.repeat(300), 'a\u0000b'];
    for (const wanted of others) {
      const { id } = await openDevice(server, 'anna', wanted);
      expect([first.id, ...others]).not.toContain(id);
    }
    expect((await admin.get(`/rc/v1/clients/${ofBob.id}`)).body).toMatchObject({ user_id: 'bob' });
  });

  it('[SYNC-2] a wrong password and an unknown login get the same refusal', async () => {
    for (const body of [
      { login: 'anna', password: 'wrong' },
      { login: 'nobody', password: USER_PASSWORD },
    ]) {
      expect(await door.post('/sync/v1/login', body)).toMatchObject({ status: 401, code: 'invalid_credentials' });
    }
    expect(await door.post('/sync/v1/login', { login: 'anna' })).toMatchObject({ code: 'invalid_request' });
    expect(await door.post('/sync/v1/login', { login: 'anna', password: 'x', more: 1 })).toMatchObject({ status: 400 });
  });

  it('[SYNC-2] failed logins are limited over both login routes together', async () => {
    const other = await startTestServer();
    const caller = new Caller(other.url, null);
    const codes: (string | null)[] = [];
    for (let count = 0; count < 6; count++) {
      const path = count % 2 === 0 ? '/sync/v1/login' : '/rc/v1/system/login';
      codes.push((await caller.post(path, { login: 'anna', password: `guess ${count}` })).code);
    }
    expect(codes).toEqual([...Array(5).fill('invalid_credentials'), 'rate_limited']);
    caller.close();
    await other.close();
  });

  it('[SYNC-2] logins are audited with the login that was tried', async () => {
    await openDevice(server, 'anna');
    await door.post('/sync/v1/login', { login: 'bob', password: 'wrong' });
    const { body } = await admin.get('/rc/v1/audit?limit=2');
    expect(body).toMatchObject([
      { action: 'device.login', actor: 'bob', result: 'invalid_credentials' },
      { action: 'device.login', actor: 'anna', result: 'ok' },
    ]);
  });
});

describe('a token', () => {
  it('[SYNC-3] a token is renewed before it expires; the token used for it stays valid, older ones end', async () => {
    const first = await openDevice(server, 'anna');
    const second = await renew(first);
    expect([second.id, second.session.user_id]).toEqual([first.id, 'anna']);
    expect([await refusalOf(first), await refusalOf(second)]).toEqual([null, null]);
    const third = await renew(second);
    expect([await refusalOf(first), await refusalOf(second), await refusalOf(third)]).toEqual([
      'token_invalid',
      null,
      null,
    ]);
  });

  it('[SYNC-3] a token ends when the device signs out, and the device stays registered', async () => {
    const first = await openDevice(server, 'anna');
    const second = await renew(first);
    const reader = await second.listen();
    expect(await second.api.delete('/sync/v1/token')).toMatchObject({
      status: 200,
      body: { revoked: expect.any(String) },
    });
    expect(await reader.rest()).toEqual([{ name: 'ended', data: { code: 'token_invalid' } }]);
    expect([await refusalOf(first), await refusalOf(second)]).toEqual(['token_revoked', 'token_revoked']);
    expect((await openDevice(server, 'anna', first.id)).id).toBe(first.id);
  });

  it('[SYNC-3] a token ends when the device is deleted, by itself or by an administrator', async () => {
    const [one, other, kept] = [
      await openDevice(server, 'anna'),
      await openDevice(server, 'anna'),
      await openDevice(server, 'anna'),
    ];
    expect(await one.api.delete(`/sync/v1/clients/${one.id}`)).toMatchObject({
      status: 200,
      body: { deleted: one.id },
    });
    await admin.delete(`/rc/v1/users/anna/clients/${other.id}`);
    expect([await refusalOf(one), await refusalOf(other), await refusalOf(kept)]).toEqual([
      'client_deleted',
      'client_deleted',
      null,
    ]);
    expect((await openDevice(server, 'anna', one.id)).id).not.toBe(one.id);
  });

  it('[SYNC-3] a token ends when the password changes or the user is deleted', async () => {
    await makeUser(server, 'carl');
    const first = await openDevice(server, 'carl');
    await admin.put('/rc/v1/users/carl', { attributes: { password: USER_PASSWORD } });
    expect(await refusalOf(first)).toBe('password_changed');
    const second = await openDevice(server, 'carl', first.id);
    expect([second.id, await refusalOf(second)]).toEqual([first.id, null]);
    await admin.delete('/rc/v1/users/carl');
    expect(await refusalOf(second)).toBe('token_invalid');
    expect((await second.api.post('/sync/v1/token', {})).code).toBe('token_invalid');
  });

  it('[SYNC-3] a token ends when it expires', async () => {
    const brief = await startTestServer({ devices: { ...server.config.devices, tokenTtlS: 1 } });
    await makeUser(brief, 'anna');
    const device = await openDevice(brief, 'anna');
    expect(Date.parse(device.session.expires_at)).toBeLessThanOrEqual(Date.now() + 1_000);
    while ((await device.api.put(`/sync/v1/clients/${device.id}`, {})).status === 200);
    expect((await device.api.put(`/sync/v1/clients/${device.id}`, {})).code).toBe('token_expired');
    await brief.close();
  });
});

describe('permissions', () => {
  const calls = (api: Caller, id: string) => [
    api.post('/sync/v1/token', {}),
    api.delete('/sync/v1/token'),
    api.post('/sync/v1/clients', {}),
    api.put(`/sync/v1/clients/${id}`, {}),
    api.delete(`/sync/v1/clients/${id}`),
    api.post(`/sync/v1/clients/${id}/reset`, {}),
    api.get('/sync/v1/sources'),
    api.post('/sync/v1/pull', { client_id: id, sources: {} }),
    api.post('/sync/v1/push', { client_id: id, changes: [] }),
    api.get('/sync/v1/events'),
    api.get('/sync/v1/sources/Product/snapshot'),
    api.post('/sync/v1/search', { source: 'Product', params: {} }),
  ];
  const codesOf = async (api: Caller, id: string) => (await Promise.all(calls(api, id))).map(({ code }) => code);

  it("[SYNC-4] an administrator's token and a token without a device cannot use the routes for devices", async () => {
    const { id } = await openDevice(server, 'anna');
    expect(new Set(await codesOf(admin, id))).toEqual(new Set(['forbidden']));
    for (const scopes of [['device'], ['admin', 'device'], ['read', 'push', 'device']]) {
      const { body } = await admin.post('/rc/v1/tokens', { name: 'x', scopes });
      const caller = new Caller(server.url, (body as { token: string }).token);
      expect(new Set(await codesOf(caller, id))).toEqual(new Set(['forbidden']));
      caller.close();
    }
    expect(new Set(await codesOf(door, id))).toEqual(new Set(['token_missing']));
  });

  it('[SYNC-4] a device token can only use the routes for devices', async () => {
    const { api } = await openDevice(server, 'admin').catch(() => openDevice(server, 'anna'));
    const replies = await Promise.all([
      api.get('/rc/v1/users'),
      api.get('/rc/v1/sources'),
      api.post('/rc/v1/store/x', { data: 'x' }),
      api.post('/app/v1/Product/push_objects', { objects: {} }),
      api.get('/metrics'),
    ]);
    expect(new Set(replies.map(({ code }) => code))).toEqual(new Set(['forbidden']));
  });

  it('[SYNC-4] the id of another device, of any user, is refused as unknown', async () => {
    const device = await openDevice(server, 'anna');
    for (const other of [await openDevice(server, 'anna'), await openDevice(server, 'bob'), { id: 'nobody' }]) {
      const replies = await Promise.all([
        device.api.put(`/sync/v1/clients/${other.id}`, { device_pin: 'stolen' }),
        device.api.post('/sync/v1/clients', { client_id: other.id, device_pin: 'stolen' }),
        device.api.delete(`/sync/v1/clients/${other.id}`),
        device.api.post(`/sync/v1/clients/${other.id}/reset`, {}),
        device.api.post('/sync/v1/pull', { client_id: other.id, sources: {} }),
        device.api.post('/sync/v1/push', { client_id: other.id, changes: [] }),
      ]);
      expect(replies.map(({ status, code }) => `${status} ${code}`)).toEqual(Array(6).fill('404 client_not_found'));
      if ('api' in other) expect(await refusalOf(other)).toBeNull();
    }
  });
});

describe('attributes of a device', () => {
  it('[SYNC-5] attributes of a device are stored under its id, by POST and by PUT', async () => {
    const { api, id } = await openDevice(server, 'anna');
    const pin = { device_type: 'ios', device_pin: 'ab'.repeat(32), device_port: 80 };
    expect((await api.post('/sync/v1/clients', pin)).body).toEqual({ client_id: id });
    expect((await admin.get(`/rc/v1/clients/${id}`)).body).toMatchObject({ ...pin, device_port: '80' });
    expect((await api.put(`/sync/v1/clients/${id}`, { client_id: id, device_type: null })).body).toEqual({
      client_id: id,
    });
    expect((await admin.get(`/rc/v1/clients/${id}`)).body).toMatchObject({
      ...pin,
      device_type: null,
      device_port: '80',
    });
  });

  it.each(['User', '__proto__', '../x', 'IOS', '', 7, [], {}, true])(
    '[HARD-50] device_type %j is refused and changes nothing',
    async (device_type) => {
      const { api, id } = await openDevice(server, 'anna');
      const refused = { status: 422, code: 'invalid_value' };
      expect(await api.post('/sync/v1/clients', { device_type, device_pin: 'x' })).toMatchObject(refused);
      expect(await api.put(`/sync/v1/clients/${id}`, { device_type, device_pin: 'x' })).toMatchObject(refused);
      expect((await admin.get(`/rc/v1/clients/${id}`)).body).toMatchObject({ device_type: null, device_pin: null });
    },
  );

  it('[HARD-50] a device cannot set attributes that the server manages', async () => {
    const { api, id } = await openDevice(server, 'anna');
    for (const name of ['user_id', 'last_sync', 'created_at']) {
      expect((await api.post('/sync/v1/clients', { [name]: 'bob' })).code).toBe('immutable_attribute');
    }
    expect((await api.post('/sync/v1/clients', { client_id: 7 })).code).toBe('immutable_attribute');
    expect((await api.postText('/sync/v1/clients', '{"__proto__":{"device_type":"ios"}}')).status).toBe(400);
    expect((await api.post('/sync/v1/clients', { colour: 'red' })).code).toBe('invalid_request');
    expect((await admin.get(`/rc/v1/clients/${id}`)).body).toMatchObject({ user_id: 'anna', device_type: null });
  });
});
