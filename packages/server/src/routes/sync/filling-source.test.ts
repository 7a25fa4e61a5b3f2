import { openDevice as openSdkDevice } from '@tidemark/client';
import { Caller, EventReader, makeUser, openDevice, USER_PASSWORD } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';

let server: TestServer;
let admin: Caller;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  await makeUser(server, 'anna');
});

afterAll(async () => {
  admin.close();
  await server.close();
});

const declare = (name: string, partition_type: string) =>
  admin.post('/rc/v1/sources', { name, partition_type, filling: true });
const fill = (name: string) => admin.put(`/rc/v1/sources/${name}`, { data: { filling: false } });
const FILLING = {
  error: { code: 'refresh_pending', detail: expect.stringContaining('being filled'), retry_after_s: 5 },
};

describe('a source that is being filled', () => {
  it('[PG-270] a device gets nothing of it and hears of no push, until it is complete', async () => {
    for (const type of ['app', 'user', 'group']) await declare(`Copied_${type}`, type);
    await admin.post('/rc/v1/sources', { name: 'Other', partition_type: 'app' });
    await admin.post('/rc/v1/users/anna/groups', { groups: ['north'] });
    const anna = await openDevice(server, 'anna');
    const events = await EventReader.open(server.url, anna.session.token);
    onTestFinished(() => events.close());
    expect((await events.next())?.name).toBe('ready');
    const pull = async () => {
      const sources = { Copied_app: {}, Copied_user: {}, Copied_group: { groups: {} }, Other: {} };
      return (await anna.api.post('/sync/v1/pull', { client_id: anna.id, sources })).body;
    };
    const push = (source: string, call: object) =>
      admin.post(`/app/v1/${source}/push_objects`, { objects: { a: { n: 1 } }, ...call });
    await push('Copied_app', {});
    await push('Copied_user', { user_id: 'anna' });
    await push('Copied_group', { group: 'north' });
    await push('Other', {});
    // The other pushes came before it.
    expect(await events.next()).toEqual({ name: 'changed', data: { source: 'Other' } });
    expect(await pull()).toMatchObject({
      sources: { Copied_app: FILLING, Copied_user: FILLING, Copied_group: FILLING, Other: { put: { a: { n: 1 } } } },
    });
    const snapshot = await anna.api.get('/sync/v1/sources/Copied_app/snapshot');
    expect([snapshot.status, snapshot.body]).toMatchObject([503, { code: 'refresh_pending' }]);
    for (const type of ['app', 'user', 'group']) {
      await fill(`Copied_${type}`);
      expect(await events.next()).toEqual({ name: 'pull', data: {} });
    }
    const page = { put: { a: { n: 1 } }, size: 1, more: false };
    expect(await pull()).toMatchObject({
      sources: { Copied_app: page, Copied_user: page, Copied_group: { groups: { north: page } } },
    });
    await push('Copied_app', { objects: { b: { n: 2 } } });
    expect(await events.next()).toEqual({ name: 'changed', data: { source: 'Copied_app' } });
  });

  it('[PG-271] the SDK does not call it complete: `sync` waits, and the device has never synchronised', async () => {
    await declare('Stock', 'app');
    await admin.post('/app/v1/Stock/push_objects', { objects: { a: { n: 1 } } });
    const device = await openSdkDevice({ url: server.url, live: true, sources: ['Stock'] });
    onTestFinished(() => device.close());
    await device.signIn({ login: 'anna', password: USER_PASSWORD });
    const synced = device.sync();
    const { status } = device;
    const until = (condition: () => boolean) =>
      new Promise<void>((resolve) => {
        const look = () => condition() && resolve();
        status.subscribe(look);
        look();
      });
    await until(() => status.getSnapshot().isLive && status.getSnapshot().mode === 'idle');
    const { lastSyncedAtMs, sourceTroubles, error } = status.getSnapshot();
    expect([lastSyncedAtMs, [...sourceTroubles], error, device.source('Stock').list()]).toEqual([null, [], null, []]);
    await fill('Stock');
    await synced;
    expect(device.source('Stock').get('a')?.attributes).toEqual({ n: 1 });
    expect(status.getSnapshot().lastSyncedAtMs).not.toBeNull();
  });

  it('[PG-270] what a device has of a source stays on it when the source is filled again', async () => {
    await admin.post('/rc/v1/sources', { name: 'Again', partition_type: 'app' });
    await admin.post('/app/v1/Again/push_objects', { objects: { a: { n: 1 } } });
    const device = await openSdkDevice({ url: server.url, live: false, sources: ['Again'] });
    onTestFinished(() => device.close());
    await device.signIn({ login: 'anna', password: USER_PASSWORD });
    await device.sync();
    await admin.put('/rc/v1/sources/Again', { data: { filling: true } });
    await admin.post('/app/v1/Again/push_objects', { objects: { b: { n: 2 } } });
    const synced = device.sync();
    await fill('Again');
    await synced;
    const seen = device.source('Again').list();
    expect(seen.map(({ id }) => id).sort()).toEqual(['a', 'b']);
  });
});
