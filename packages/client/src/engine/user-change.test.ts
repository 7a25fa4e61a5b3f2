import type { CommitOptions, Device, LocalStore, LocalWrite } from '@tidemark/client';
import { type DeviceFixture, newDeviceFixture } from '@tidemark/testing';
import { beforeEach, expect, it } from 'vitest';
import { memoryStore } from '../stores/memory-store.ts';

let fixture: DeviceFixture;

beforeEach(async () => {
  fixture = await newDeviceFixture();
});

const ada = { login: 'ada', password: 'long enough' };
const bob = { login: 'bob', password: 'long enough' };
const nextAda = { login: 'ada', password: 'of another person' };

/** A store that outlives its device. */
function lasting() {
  const store = memoryStore();
  return { load: () => store.load(), commit: store.commit, close: async () => undefined };
}

const push = (user: string, objects: Record<string, Record<string, unknown>>) =>
  fixture.tidemark.objects.push({ source: 'Order', user_id: user, objects });

const onServer = async (user: string) =>
  Object.fromEntries(await fixture.tidemark.objects.read({ source: 'Order', user_id: user }));

const seen = (device: Device) =>
  Object.fromEntries(
    device
      .source('Order')
      .list()
      .map(({ id, attributes }) => [id, attributes]),
  );

/** A device of the first ada that holds an object and has a change that was not sent. */
async function used(store: LocalStore = lasting()): Promise<Device> {
  await push('ada', { old: { of: 'the first' } });
  const device = await fixture.open({ store });
  await fixture.finish(device.sync());
  fixture.platform.setOnline(false);
  await device.source('Order').create({ of: 'the first' }, { id: 'unsent' });
  return device;
}

/** Gives the login to another person. */
async function replaceAda(): Promise<void> {
  await fixture.tidemark.users.delete('ada');
  await fixture.tidemark.users.create({ attributes: { ...nextAda } });
  await push('ada', { new: { of: 'the second' } });
}

/** Removes from a store what earlier versions did not know. */
async function forgetGenerations(store: LocalStore): Promise<void> {
  const rows = (await store.load()).filter(({ table, key }) => table === 'facts' && /owner|session/.test(key[1]));
  const writes = rows.map(({ value, ...row }) => {
    const { generation: _, ...rest } = value as { readonly generation?: number };
    return { ...row, value: rest };
  });
  expect(writes).toHaveLength(2);
  await store.commit(writes);
}

it('[SESSION-9] another user with the same login neither sees nor uploads what the one before left', async () => {
  const device = await used();
  await replaceAda();
  fixture.platform.setOnline(true);
  await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
  await expect(fixture.finish(device.signIn(nextAda))).rejects.toMatchObject({ code: 'uploads_pending' });
  expect(device.status.getSnapshot()).toMatchObject({ mode: 'needs_sign_in', pendingUploads: 1 });
  await fixture.finish(device.signIn(nextAda, { discardUploads: true }));
  await fixture.finish(device.sync());
  expect([seen(device), await onServer('ada')]).toEqual([{ new: { of: 'the second' } }, { new: { of: 'the second' } }]);
});

it('[SESSION-9] another user with the same login does not renew the session of the one before', async () => {
  const store = lasting();
  await fixture.finish((await used(store)).close());
  await replaceAda();
  fixture.platform.setOnline(true);
  const device = await fixture.open({ store, user: null, getToken: async () => nextAda });
  await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
  expect(await onServer('ada')).toEqual({ new: { of: 'the second' } });
  expect(Object.keys(seen(device))).toEqual(['old', 'unsent']);
});

it('[SESSION-9] another user with the same login is recognised by a store of an earlier version once its session was refreshed', async () => {
  const store = lasting();
  await fixture.finish((await used(store)).close());
  await forgetGenerations(store);
  const device = await fixture.open({ store, user: null, sources: ['Order'] });
  // Pushes fail, so that the change stays here while the token is refreshed.
  fixture.intercept = ({ path }) => (path === '/push' ? Promise.reject(new TypeError('no network')) : undefined);
  await fixture.platform.advance(20 * 3_600_000);
  fixture.platform.setOnline(true);
  await fixture.platform.until(() => fixture.sync.count('/token') > 0);
  await replaceAda();
  await fixture.platform.until(() => device.status.getSnapshot().mode === 'needs_sign_in');
  await expect(fixture.finish(device.signIn(nextAda))).rejects.toMatchObject({ code: 'uploads_pending' });
});

it('[SESSION-9] a store of an earlier version, which knows no generation, keeps its changes for its user', async () => {
  const store = lasting();
  await fixture.finish((await used(store)).close());
  await forgetGenerations(store);
  fixture.sync.endSessions();
  fixture.platform.setOnline(true);
  const device = await fixture.open({ store, user: null });
  await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
  await fixture.finish(device.signIn(ada));
  await fixture.finish(device.sync());
  expect(await onServer('ada')).toEqual({ old: { of: 'the first' }, unsent: { of: 'the first' } });
});

it('[SESSION-9] a device whose server names no generation goes on after its user signs in again', async () => {
  const without = async (answer: Response) => {
    const { generation: _, ...session } = (await answer.json()) as { readonly generation?: number };
    return Response.json(session);
  };
  fixture.intercept = ({ path }, go) => (path === '/login' ? go().then(without) : undefined);
  const device = await used();
  fixture.sync.endSessions();
  fixture.platform.setOnline(true);
  await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
  await fixture.finish(device.signIn(ada));
  await fixture.finish(device.sync());
  expect(await onServer('ada')).toEqual({ old: { of: 'the first' }, unsent: { of: 'the first' } });
});

it('[SESSION-3] a change that is not stored when another user has signed in is taken back', async () => {
  for (const next of [bob, nextAda]) {
    const kept = lasting();
    let letThrough: (() => void) | null = null;
    let isSlow = false;
    const device = await used({
      ...kept,
      commit: async (...given) => {
        if (isSlow)
          await new Promise<void>((resolve) => {
            letThrough = resolve;
          });
        await kept.commit(...given);
      },
    });
    if (next === nextAda) await replaceAda();
    fixture.sync.endSessions();
    fixture.platform.setOnline(true);
    await expect(fixture.finish(device.sync())).rejects.toMatchObject({ code: 'sign_in_required' });
    isSlow = true;
    const signingIn = device.signIn(next, { discardUploads: true });
    await fixture.platform.until(() => letThrough !== null);
    const late = expect(device.source('Order').update('old', { of: 'late' })).rejects.toMatchObject({
      code: 'signed_out',
    });
    isSlow = false;
    (letThrough as (() => void) | null)?.();
    await fixture.finish(Promise.all([signingIn, late]));
    await fixture.finish(device.sync());
    expect([device.uploads.list(), seen(device)]).toEqual([[], await onServer(next.login)]);
    await fixture.finish(device.close());
  }
});

it('[HYGIENE-2] the commit that deletes the data of the first user scrubs the store, before the token is revoked', async () => {
  const kept = lasting();
  const scrubs: boolean[] = [];
  const device = await used({
    ...kept,
    commit: (writes: readonly LocalWrite[], options?: CommitOptions) => {
      const deletes = writes.some(({ table, value }) => table === 'objects' && value === undefined);
      if (deletes) scrubs.push(options?.scrubs === true);
      return kept.commit(writes, options);
    },
  });
  fixture.platform.setOnline(true);
  fixture.intercept = ({ method }) => (method === 'DELETE' ? Promise.reject(new TypeError('no network')) : undefined);
  await fixture.finish(device.signIn(bob, { discardUploads: true }));
  expect(scrubs).toEqual([true]);
});

it('[SESSION-9] a token that is refreshed while another user signs in does not make the device one of the user before', async () => {
  await push('ada', { old: { of: 'ada' } });
  await push('bob', { new: { of: 'bob' } });
  const device = await fixture.open();
  await fixture.finish(device.sync());
  let isRefused = true;
  let answer: () => void = () => undefined;
  const asked = new Promise<void>((ask) => {
    fixture.intercept = ({ path }, go) => {
      if (path === '/pull' && isRefused) return Promise.resolve(new Response('{}', { status: 401 }));
      if (path !== '/token' || !isRefused) return undefined;
      return go().then(async (response) => {
        await new Promise<void>((resolve) => {
          answer = resolve;
          ask();
        });
        return response;
      });
    };
  });
  device.sync().catch(() => undefined);
  await fixture.finish(asked);
  isRefused = false;
  await fixture.finish(device.signOut());
  await fixture.finish(device.signIn(bob));
  answer();
  await fixture.finish(device.sync().catch(() => undefined));
  await fixture.finish(device.sync());
  expect([device.status.getSnapshot().userId, seen(device)]).toEqual(['bob', { new: { of: 'bob' } }]);
  await device.source('Order').create({ of: 'bob' }, { id: 'mine' });
  await fixture.finish(device.sync());
  expect(await onServer('bob')).toEqual({ mine: { of: 'bob' }, new: { of: 'bob' } });
});
