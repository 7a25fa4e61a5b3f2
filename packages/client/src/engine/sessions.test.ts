import type { Device } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const ada = { login: 'ada', password: 'long enough' };
const bob = { login: 'bob', password: 'long enough' };
const HOUR_MS = 3_600_000;

const push = (user: string, objects: Record<string, Record<string, unknown>>) =>
  fixture.tidemark.objects.push({ source: 'Order', user_id: user, objects });

const ids = (device: Device) =>
  device
    .source('Order')
    .list()
    .map(({ id }) => id);

/** A store that outlives its device. */
function lasting() {
  const store = memoryStore();
  return { load: () => store.load(), commit: store.commit, close: async () => undefined };
}

describe('signing in', () => {
  it('[SESSION-1] a wrong password is refused and changes nothing', async () => {
    const device = await fixture.open({ user: null });
    await expect(fixture.finish(device.signIn({ ...ada, password: 'wrong' }))).rejects.toMatchObject({
      code: 'invalid_credentials',
      status: 401,
    });
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'signed_out', userId: null, clientId: null });
    await expect(device.sync()).rejects.toMatchObject({ code: 'signed_out' });
    await expect(device.source('Order').create({ a: 1 })).rejects.toMatchObject({ code: 'signed_out' });
  });

  it('[SESSION-1] the device keeps its id over sign-outs and restarts', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    const { clientId } = device.status.getSnapshot();
    await fixture.finish(device.signOut());
    await device.close();
    const again = await fixture.open({ store });
    expect(again.status.getSnapshot().clientId).toBe(clientId);
    expect(await fixture.tidemark.clients.listOf('ada')).toEqual([clientId]);
  });

  it('[SESSION-2] signing out deletes the data, and is refused while uploads would be lost', async () => {
    await push('ada', { 1: { a: 1 } });
    const store = lasting();
    const device = await fixture.open({ store });
    await fixture.finish(device.sync());
    fixture.platform.setOnline(false);
    await device.source('Order').create({ a: 2 });
    await expect(device.signOut()).rejects.toMatchObject({ code: 'uploads_pending' });
    expect(ids(device)).toHaveLength(2);
    await device.signOut({ discardUploads: true });
    expect([ids(device), device.uploads.list()]).toEqual([[], []]);
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'signed_out', userId: null, lastSyncedAtMs: null });
    expect((await store.load()).map(({ table, key }) => [table, key[1]])).toEqual([
      ['facts', 'owner'],
      ['facts', 'revocations'],
    ]);
  });

  for (const held of ['/sources', '/pull']) {
    it(`[SESSION-2] an answer to ${held} that arrives after signing out is dropped`, async () => {
      await push('ada', { 1: { a: 1 } });
      const store = lasting();
      const device = await fixture.open({ store, user: null });
      let isAsked = false;
      let answer: () => void = () => undefined;
      fixture.intercept = ({ path }, go) => {
        if (path !== held) return undefined;
        isAsked = true;
        return new Promise((resolve) => {
          answer = () => resolve(go());
        });
      };
      await fixture.finish(device.signIn(ada));
      await fixture.platform.until(() => isAsked);
      await fixture.finish(device.signOut());
      answer();
      await fixture.platform.advance(1_000);
      expect((await store.load()).map(({ table, key }) => [table, key[1]])).toEqual([['facts', 'owner']]);
    });
  }

  it('[SESSION-3] another user neither sees nor uploads the data of the previous one', async () => {
    await push('ada', { hers: { a: 1 } });
    await push('bob', { his: { a: 1 } });
    const device = await fixture.open();
    await fixture.finish(device.sync());
    fixture.sync.endSessions();
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
    await device.source('Order').create({ a: 2 }, { id: 'made offline' });
    await expect(fixture.finish(device.signIn(bob))).rejects.toMatchObject({ code: 'uploads_pending' });
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'needs_sign_in', userId: 'ada' });
    expect(ids(device)).toEqual(['hers', 'made offline']);
    await fixture.finish(device.signIn(bob, { discardUploads: true }));
    await fixture.finish(device.sync());
    expect(ids(device)).toEqual(['his']);
    const objects = await fixture.tidemark.objects.read({ source: 'Order', user_id: 'bob' });
    expect([...objects.keys()]).toEqual(['his']);
  });

  it('[SESSION-4] after the session has ended the device works offline, and continues when the user signs in again', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    await fixture.finish(device.sync());
    fixture.sync.endSessions();
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
    await device.source('Order').create({ a: 1 }, { id: 'o' });
    expect(ids(device)).toEqual(['o']);
    await device.close();
    const again = await fixture.open({ store, user: null });
    expect(again.status.getSnapshot()).toMatchObject({ mode: 'needs_sign_in', pendingUploads: 1, userId: 'ada' });
    await fixture.finish(again.signIn(ada));
    await fixture.finish(again.sync());
    expect([...(await fixture.tidemark.objects.read({ source: 'Order', user_id: 'ada' })).keys()]).toEqual(['o']);
    expect(again.status.getSnapshot()).toMatchObject({ mode: 'idle', pendingUploads: 0 });
  });

  it('[SESSION-4] a device that was deleted on the server has to sign in again and gets a new id', async () => {
    const device = await fixture.open();
    await fixture.finish(device.sync());
    const { clientId } = device.status.getSnapshot();
    await fixture.tidemark.clients.delete('ada', clientId);
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
    await fixture.finish(device.signIn(ada));
    await fixture.finish(device.sync());
    expect(device.status.getSnapshot().clientId).not.toBe(clientId);
  });
});

describe('the end of a session', () => {
  it.each([
    ['token_expired', 'expired'],
    ['token_revoked', 'signed_out_elsewhere'],
    ['password_changed', 'password_changed'],
    ['client_deleted', 'device_deleted'],
    ['token_invalid', 'unknown'],
  ] as const)(
    '[SESSION-8] a session that ends with %s has the reason %s, also after a restart',
    async (code, reason) => {
      const store = lasting();
      const device = await fixture.open({ store });
      await fixture.finish(device.sync());
      expect(device.status.getSnapshot().sessionEnd).toBeNull();
      fixture.sync.endSessions(code);
      await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
      const ended = { mode: 'needs_sign_in', sessionEnd: { reason, atMs: expect.any(Number) } };
      await fixture.finish(device.close());
      const again = await fixture.open({ store, user: null });
      expect(again.status.getSnapshot()).toMatchObject(ended);
      await fixture.finish(again.signIn(ada));
      expect(again.status.getSnapshot().sessionEnd).toBeNull();
    },
  );

  it('[SESSION-8] a token that the server has forgotten has expired if its time is over', async () => {
    const device = await fixture.open({ pollMs: 100 * HOUR_MS });
    await fixture.finish(device.sync());
    fixture.platform.setOnline(false);
    await fixture.platform.advance(48 * HOUR_MS);
    fixture.platform.setOnline(true);
    await fixture.platform.advance(1_000);
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'needs_sign_in', sessionEnd: { reason: 'expired' } });
  });

  it('[SESSION-8] a device that was deleted or wiped says so, and one that was signed out here says nothing', async () => {
    const device = await fixture.open();
    await fixture.finish(device.sync());
    await fixture.finish(device.signOut());
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'signed_out', sessionEnd: null });
    await fixture.finish(device.signIn(ada));
    await fixture.tidemark.clients.delete('ada', device.status.getSnapshot().clientId);
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
    await fixture.platform.advance(1);
    expect(device.status.getSnapshot().sessionEnd).toMatchObject({ reason: 'device_deleted' });
    await fixture.finish(device.signIn(ada));
    await fixture.tidemark.clients.wipes.order(device.status.getSnapshot().clientId, 'admin');
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'signed_out' });
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'signed_out', sessionEnd: { reason: 'wiped' } });
  });
});

describe('opening', () => {
  it.each([
    '',
    'sync.example.com',
    '/sync',
    'ftp://sync.example.com',
    'https://',
    'https://ada:secret@sync.example.com',
    'https://sync.example.com?x=1',
  ])('[SDK-20] the address %j is refused at once', async (url) => {
    await expect(fixture.open({ url, user: null })).rejects.toMatchObject({ code: 'invalid_url', status: null });
  });

  it('[SDK-21] errors in rejections and in the status have code, detail and HTTP status', async () => {
    const device = await fixture.open();
    fixture.intercept = ({ path }) =>
      path === '/pull'
        ? Promise.resolve(Response.json({ code: 'overloaded', detail: 'busy' }, { status: 503 }))
        : undefined;
    const shape = { code: 'overloaded', detail: 'busy', status: 503 };
    await expect(fixture.finish(device.sync())).rejects.toMatchObject(shape);
    expect(device.status.getSnapshot().error).toMatchObject(shape);
  });
});

describe('sources', () => {
  it('[SDK-22] a change of a source that the server does not have is refused as soon as the list of sources has come', async () => {
    const device = await fixture.open();
    await fixture.finish(device.sync());
    await expect(device.source('Nowhere').create({ n: 1 })).rejects.toMatchObject({ code: 'source_not_found' });
    expect(device.uploads.getSnapshot()).toEqual([]);
    await fixture.tidemark.sources.declare({ name: 'Nowhere', partition_type: 'user' });
    await fixture.finish(device.signIn(ada));
    await fixture.finish(device.sync());
    await fixture.finish(device.source('Nowhere').create({ n: 1 }));
  });

  it('[SDK-22] a source that the app names and the server does not have is told by the status, until it is declared', async () => {
    const device = await fixture.open({ sources: ['Order', 'Ordr'] });
    await fixture.finish(device.sync());
    const troubles = () => [...device.status.getSnapshot().sourceTroubles];
    expect(troubles()).toMatchObject([['Ordr', { code: 'source_not_found' }]]);
    await fixture.tidemark.sources.declare({ name: 'Ordr' });
    await fixture.finish(device.signIn(ada));
    await fixture.finish(device.sync());
    expect(troubles()).toEqual([]);
  });
});

describe('tokens', () => {
  it('[SESSION-5] tokens are refreshed before they expire', async () => {
    const device = await fixture.open({ pollMs: HOUR_MS });
    await fixture.finish(device.sync());
    for (let day = 0; day < 3; day++) {
      await fixture.platform.advance(20 * HOUR_MS);
      await fixture.finish(device.sync());
    }
    expect(fixture.sync.count('/login')).toBe(1);
    expect(fixture.sync.count('/token')).toBeGreaterThanOrEqual(2);
    expect(fixture.sync.count('/token')).toBeLessThanOrEqual(4);
  });

  it('[SESSION-5] a refused token is refreshed once, and the call is repeated', async () => {
    const device = await fixture.open();
    await fixture.finish(device.sync());
    let refused = 0;
    fixture.intercept = ({ path }) => {
      if (path !== '/pull' || refused > 0) return undefined;
      refused++;
      return Promise.resolve(Response.json({ code: 'token_invalid', detail: 'no' }, { status: 401 }));
    };
    await fixture.finish(device.sync());
    expect([refused, fixture.sync.count('/token')]).toEqual([1, 1]);
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'idle', error: null });
  });

  it('[SESSION-5] if the refreshed token is refused, too, the user has to sign in', async () => {
    const device = await fixture.open();
    await fixture.finish(device.sync());
    fixture.intercept = ({ path }) =>
      path === '/pull'
        ? Promise.resolve(Response.json({ code: 'token_invalid', detail: 'no' }, { status: 401 }))
        : undefined;
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(fixture.sync.count('/token')).toBe(1);
  });

  it('[SESSION-5] a wrong clock does not make the device refresh permanently', async () => {
    const device = await fixture.open({ pollMs: HOUR_MS / 10 });
    fixture.intercept = ({ path }, go) =>
      path !== '/token'
        ? undefined
        : go().then(async (response) =>
            Response.json({ ...((await response.json()) as object), expires_at: '2001-01-01T00:00:00Z' }),
          );
    await fixture.platform.advance(20 * HOUR_MS);
    const before = fixture.sync.count('/token');
    for (let round = 0; round < 10; round++) await fixture.finish(device.sync());
    expect(before).toBeGreaterThan(0);
    expect(fixture.sync.count('/token') - before).toBeLessThanOrEqual(1);
  });
});

describe('what a device says of itself', () => {
  it('[SESSION-16] a device that has said what it is does not say it again at its next start, also with a new token', async () => {
    const store = lasting();
    const device = await fixture.open({ store });
    await fixture.finish(device.sync());
    await fixture.platform.advance(20 * HOUR_MS);
    await fixture.finish(device.sync());
    expect(fixture.sync.count('/token')).toBe(1);
    await device.close();
    const again = await fixture.open({ store, user: null });
    await fixture.finish(again.sync());
    await fixture.finish(again.sync());
    const updates = fixture.sync.log.filter(({ method, path }) => method === 'PUT' && path.startsWith('/clients/'));
    expect(updates).toEqual([]);
  });
});

describe('closing', () => {
  it('[SESSION-6] closing stops all work, and later calls are refused', async () => {
    const device = await fixture.open();
    const syncing = device.sync();
    await Promise.all([expect(syncing).rejects.toMatchObject({ code: 'closed' }), fixture.finish(device.close())]);
    await expect(device.sync()).rejects.toMatchObject({ code: 'closed' });
    await expect(device.signIn(ada)).rejects.toMatchObject({ code: 'closed' });
    await expect(device.source('Order').create({ a: 1 })).rejects.toMatchObject({ code: 'closed' });
    const requests = fixture.sync.log.length;
    await fixture.platform.advance(24 * HOUR_MS);
    expect(fixture.sync.log).toHaveLength(requests);
  });
});

describe('tokens of an identity provider', () => {
  /** Accepts tokens that are the login of a user. */
  function acceptTokens(): unknown[] {
    const bodies: unknown[] = [];
    fixture.intercept = ({ path, body }, _, init) => {
      const { id_token: login, ...rest } = (body ?? {}) as { readonly id_token?: string };
      if (path !== '/login' || login === undefined) return undefined;
      bodies.push(body);
      const passed = JSON.stringify({ ...rest, login, password: 'long enough' });
      return fixture.sync.fetch('http://tidemark.test/sync/v1/login', { ...init, body: passed });
    };
    return bodies;
  }

  it('[SESSION-7] a device signs in with an ID token', async () => {
    const bodies = acceptTokens();
    const device = await fixture.open({ user: null });
    await fixture.finish(device.signIn({ idToken: 'ada' }));
    await fixture.finish(device.sync());
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'idle', userId: 'ada' });
    expect(bodies).toEqual([{ id_token: 'ada', device: expect.any(Object) }]);
  });

  it('[SESSION-7] a device signs in with the code of an invite', async () => {
    const bodies: unknown[] = [];
    fixture.intercept = ({ path, body }, _, init) => {
      if (path !== '/login') return undefined;
      bodies.push(body);
      const passed = JSON.stringify({ login: 'ada', password: 'long enough' });
      return fixture.sync.fetch('http://tidemark.test/sync/v1/login', { ...init, body: passed });
    };
    const device = await fixture.open({ user: null });
    await fixture.finish(device.signIn({ invite: 'tmi_code' }));
    expect(bodies).toEqual([{ invite: 'tmi_code', device: expect.any(Object) }]);
  });

  it('[SESSION-7] an ended session is renewed with a token from getToken, with the same device id', async () => {
    acceptTokens();
    const device = await fixture.open({ getToken: async () => ({ idToken: 'ada' }) });
    const { clientId } = device.status.getSnapshot();
    fixture.sync.endSessions();
    await fixture.finish(device.sync());
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'idle', userId: 'ada', clientId });
  });

  it.each([
    ['no token', null],
    ['a token of another user', { idToken: 'bob' }],
    ['a token that is refused', { idToken: 'nobody' }],
  ])('[SESSION-7] the user has to sign in if getToken returns %s', async (_, credentials) => {
    acceptTokens();
    const device = await fixture.open({ getToken: async () => credentials });
    fixture.sync.endSessions();
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'needs_sign_in', userId: 'ada' });
  });

  it('[SESSION-7] the session goes on later if getToken fails', async () => {
    acceptTokens();
    let isDown = true;
    const getToken = async () => {
      if (isDown) throw new Error('the provider is down');
      return { idToken: 'ada' };
    };
    const device = await fixture.open({ getToken });
    fixture.sync.endSessions();
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'unreachable' });
    isDown = false;
    await fixture.finish(device.sync());
    expect(device.status.getSnapshot()).toMatchObject({ mode: 'idle', userId: 'ada' });
  });
});
