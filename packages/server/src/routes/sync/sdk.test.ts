import { type Device, type DeviceOptions, openDevice } from '@tidemark/client';
import { openFileStore } from '@tidemark/client/file-store';
import type { Invite, WipeOrder } from '@tidemark/protocol';
import { Caller, makeUser, temporaryFolder, USER_PASSWORD } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';

let server: TestServer;
let admin: Caller;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  await admin.post('/rc/v1/sources', { name: 'Order', partition_type: 'user', conflicts: 'detect' });
  await admin.post('/rc/v1/sources', { name: 'Catalogue', partition_type: 'app', sync_type: 'bulk_only' });
  await makeUser(server, 'ada');
});

afterAll(async () => {
  admin.close();
  await server.close();
});

/** A device of the SDK with its default platform. */
async function signedIn(options: Pick<DeviceOptions, 'live' | 'platform'> = {}): Promise<Device> {
  const device = await openDevice({ url: server.url, live: false, ...options });
  onTestFinished(() => device.close());
  await device.signIn({ login: 'ada', password: USER_PASSWORD });
  return device;
}

const push = (source: string, objects: object) =>
  admin.post(`/app/v1/${source}/push_objects`, { user_id: 'ada', objects });

const until = (device: Device, condition: () => boolean, source = 'Order') =>
  new Promise<void>((resolve) => {
    const look = () => {
      if (condition()) resolve();
    };
    device.source(source).subscribe(look);
    device.status.subscribe(look);
    look();
  });

describe('the SDK and the server', () => {
  it('[SDK-1] an idle device receives a change, and the server one made at the device', async () => {
    const [one, other] = [await signedIn({ live: true }), await signedIn({ live: true })];
    await Promise.all([one.sync(), other.sync()]);
    await until(other, () => other.status.getSnapshot().isLive);
    const { id } = await one.source('Order').create({ total: 1 });
    await until(other, () => other.source('Order').get(id) !== undefined);
    await other.source('Order').update(id, { total: 2 });
    await until(one, () => one.source('Order').get(id)?.attributes.total === 2);
    expect([one.problems.list(), other.problems.list()]).toEqual([[], []]);
  });

  it('[SDK-19] a change reaches a listening device with its event: it is applied without a pull', async () => {
    const calls: string[] = [];
    const fetched = (url: string, init: RequestInit) => {
      calls.push(new URL(url).pathname);
      return fetch(url, init);
    };
    const device = await signedIn({ live: true, platform: { fetch: fetched } });
    await device.sync();
    const { status } = device;
    await until(device, () => status.getSnapshot().isLive && status.getSnapshot().mode === 'idle');
    const before = calls.filter((path) => path.endsWith('/pull')).length;
    for (let total = 1; total <= 3; total++) {
      await push('Order', { live: { total } });
      await until(device, () => device.source('Order').get('live')?.attributes.total === total);
    }
    expect(calls.filter((path) => path.endsWith('/pull'))).toHaveLength(before);
    expect(status.getSnapshot().heals).toBe(0);
  });

  it('[SDK-31] a listening device finds a source that is declared, and loses one that is dropped, without a call of sync()', async () => {
    const device = await signedIn({ live: true });
    await device.sync();
    const { status } = device;
    await until(device, () => status.getSnapshot().isLive && status.getSnapshot().mode === 'idle');
    await admin.post('/rc/v1/sources', { name: 'Later', partition_type: 'user' });
    await until(device, () => device.sourceNames().includes('Later'), 'Later');
    await push('Later', { l: { n: 1 } });
    await until(device, () => device.source('Later').list().length === 1, 'Later');
    await admin.delete('/rc/v1/sources/Later');
    await until(device, () => device.source('Later').list().length === 0, 'Later');
    expect(device.sourceNames()).not.toContain('Later');
  });

  it('[SESSION-16] a device says what it is when it signs in, and again after its app was updated', async () => {
    const folder = await temporaryFolder();
    onTestFinished(folder.remove);
    const open = async (version: string) => {
      const store = await openFileStore(folder.path);
      const device = await openDevice({ url: server.url, live: false, store, about: { app: 'Field', version } });
      onTestFinished(() => device.close());
      return device;
    };
    const device = await open('1.0');
    await device.signIn({ login: 'ada', password: USER_PASSWORD });
    const { clientId } = device.status.getSnapshot();
    const known = async () => (await admin.get(`/rc/v1/clients/${clientId}`)).body;
    expect(await known()).toMatchObject({
      ...{ device_app_id: 'Field', device_app_version: '1.0', device_name: null, device_platform: 'node' },
      device_system: `Node.js ${process.versions.node} on ${process.platform}`,
    });
    await device.close();
    const updated = await open('1.1');
    await updated.sync();
    await vi.waitFor(async () => expect(await known()).toMatchObject({ device_app_version: '1.1' }), {
      timeout: 60_000,
    });
  });

  it('[WIPE-7] a listening device is wiped at once, and its old token gets 401', async () => {
    const tokens = new Set<string>();
    const fetched = (url: string, init: RequestInit) => {
      tokens.add(new Headers(init.headers).get('authorization') ?? '');
      return fetch(url, init);
    };
    const device = await signedIn({ live: true, platform: { fetch: fetched } });
    await push('Order', { wiped: { total: 1 } });
    await device.sync();
    const { status } = device;
    await until(device, () => status.getSnapshot().isLive && status.getSnapshot().mode === 'idle');
    const { clientId } = status.getSnapshot();
    expect((await admin.post(`/rc/v1/clients/${clientId}/wipe`, {})).status).toBe(200);
    await until(device, () => status.getSnapshot().mode === 'signed_out');
    expect(device.source('Order').list()).toEqual([]);
    const isConfirmed = async () => {
      const { body } = await admin.get(`/rc/v1/clients/${clientId}`);
      return (body as { readonly wipe: WipeOrder }).wipe.confirmed_at !== null;
    };
    await vi.waitFor(async () => expect(await isConfirmed()).toBe(true), { timeout: 60_000 });
    const [token = ''] = [...tokens].filter((one) => one !== '');
    const { status: answer } = await fetch(`${server.url}/sync/v1/sources`, { headers: { authorization: token } });
    expect(answer).toBe(401);
  });

  it('[VALUE-8] names that some versions of V8 confuse arrive unchanged in both directions', async () => {
    const objects = {
      n1: { a: 1, '\\': 2, deep: { b: 1, '\\': 2 } },
      n2: { a: 1, '"': 2, deep: { b: 1, '\n': 2 } },
      n3: { a: 1, '/': 2, deep: { b: 1, '"': [{ b: 1, '\r': 2 }] } },
    };
    await push('Order', objects);
    const device = await signedIn();
    await device.sync();
    const made = await device.source('Order').create(objects.n2);
    await device.sync();
    const held = [...Object.keys(objects), made.id].map((id) => device.source('Order').get(id)?.attributes);
    expect(held).toEqual([...Object.values(objects), objects.n2]);
    const read = await admin.get('/rc/v1/users/ada/sources/Order/docs/md');
    expect(read).toMatchObject({ status: 200, body: objects });
    expect(device.problems.list()).toEqual([]);
  });

  it('[SDK-9] a source that is only available as a snapshot arrives compressed, complete and with its checksum', async () => {
    const objects = Object.fromEntries(Array.from({ length: 1_200 }, (_, n) => [`p${n}`, { n, text: 'x'.repeat(50) }]));
    await push('Catalogue', objects);
    const device = await signedIn();
    await device.sync();
    const held = device.source('Catalogue').list();
    expect(Object.fromEntries(held.map(({ id, attributes }) => [id, attributes]))).toEqual(objects);
    await push('Catalogue', { p7: { n: 'new' } });
    await device.sync();
    expect(device.source('Catalogue').get('p7')?.attributes.n).toBe('new');
    expect(device.status.getSnapshot().heals).toBe(0);
    await device.source('Catalogue').update('p8', { n: 'mine' });
    await device.sync();
    expect([device.source('Catalogue').get('p8')?.isPending, device.uploads.list()]).toEqual([false, []]);
  });

  it('[UP-8] a conflict contains the current object of the server', async () => {
    await push('Order', { c: { a: 1 } });
    const device = await signedIn();
    await device.sync();
    device.goOffline();
    await device.source('Order').update('c', { a: 'mine' });
    await push('Order', { c: { a: 'theirs' } });
    device.goOnline();
    await device.sync();
    expect(device.source('Order').get('c')?.attributes).toEqual({ a: 'theirs' });
    expect(device.problems.list()).toMatchObject([{ error: { code: 'object_changed' }, current: { a: 'theirs' } }]);
  });

  it('[SESSION-2] signing out ends the token, and attributes of the device reach the server', async () => {
    const device = await signedIn();
    const { clientId } = device.status.getSnapshot();
    await device.describe({ device_type: 'android', device_pin: 'pin-1' });
    const { body } = await admin.get(`/rc/v1/clients/${clientId}`);
    expect(body).toMatchObject({ user_id: 'ada', device_type: 'android' });
    await expect(device.search('Order', {})).rejects.toMatchObject({ code: 'search_not_available', status: 404 });
    await device.signOut();
    expect(device.status.getSnapshot().mode).toBe('signed_out');
  });

  it('[SESSION-4] a user whose password was changed has to sign in again and loses no data', async () => {
    await makeUser(server, 'bob');
    const device = await openDevice({ url: server.url, live: false });
    onTestFinished(() => device.close());
    await device.signIn({ login: 'bob', password: USER_PASSWORD });
    await device.sync();
    await admin.put('/rc/v1/users/bob', { attributes: { password: 'another password' } });
    await expect(device.sync()).rejects.toMatchObject({ code: 'sign_in_required' });
    const { id } = await device.source('Order').create({ n: 1 });
    await device.signIn({ login: 'bob', password: 'another password' });
    await device.sync();
    const { body } = await admin.get('/rc/v1/users/bob/sources/Order/docs/md');
    expect(body).toEqual({ [id]: { n: 1 } });
  });
  it('[SESSION-10] a device that is to be wiped signs in with an invite, which the wipe does not use up', async () => {
    await makeUser(server, 'eve');
    const device = await openDevice({ url: server.url, live: false });
    onTestFinished(() => device.close());
    await device.signIn({ login: 'eve', password: USER_PASSWORD });
    await device.source('Order').create({ n: 1 });
    await device.sync();
    const { clientId } = device.status.getSnapshot();
    await admin.put('/rc/v1/users/eve', { attributes: { password: 'another password' } });
    await expect(device.sync()).rejects.toMatchObject({ code: 'sign_in_required' });
    await admin.post(`/rc/v1/clients/${clientId}/wipe`, {});
    const { code: invite } = (await admin.post('/rc/v1/users/eve/invite', {})).body as Invite;
    await device.signIn({ invite });
    await device.sync();
    const { clientId: newId, mode } = device.status.getSnapshot();
    expect([mode, newId === clientId, device.source('Order').list().length]).toEqual(['idle', false, 1]);
    const { wipe } = (await admin.get(`/rc/v1/clients/${clientId}`)).body as { readonly wipe: WipeOrder };
    expect(wipe.confirmed_at).toEqual(expect.any(String));
    await expect(device.signIn({ invite })).rejects.toMatchObject({ code: 'invite_invalid' });
  });
});
