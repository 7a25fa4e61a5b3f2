import type { Page } from '@tidemark/protocol';
import { newTidemark, refusalOf, type TestTidemark } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { tokenHash, tokenId } from '../accounts/token-text.ts';
import { pageJson } from '../pages/render-page.ts';
import type { Adapter } from '../ports/adapter.ts';
import type { DeviceCaller } from './device-sessions.ts';

interface Gate {
  readonly reached: Promise<void>;
  open(): void;
}

/** A Tidemark whose source `Stock` asks a backend that answers when the gate opens. */
async function withSlowBackend(): Promise<TestTidemark & { readonly gate: Gate }> {
  let reach = () => {};
  let open = () => {};
  const reached = new Promise<void>((resolve) => {
    reach = resolve;
  });
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  const nothing = async () => undefined;
  const query = async () => {
    reach();
    await opened;
    return { objects: { s: { n: 1 } } };
  };
  const adapter: Adapter = { query, create: async () => '1', update: nothing, delete: nothing };
  const test = await newTidemark({ adapters: { find: () => adapter } });
  await test.tidemark.sources.declare({ name: 'Stock', partition_type: 'user', adapter: 'slow', poll_interval: 0 });
  await test.tidemark.sources.declare({ name: 'Shared', partition_type: 'app', adapter: 'slow', poll_interval: 0 });
  return { ...test, gate: { reached, open: () => open() } };
}

async function newCaller({ tidemark }: TestTidemark): Promise<DeviceCaller> {
  const { client_id: client } = await tidemark.clients.register('ada', {});
  const { token } = await tidemark.tokens.issue({ user: 'ada', client, scopes: ['device'], expiresAtMs: null });
  return { user: 'ada', client, tokenHash: tokenHash(token) };
}

/** Another person gets the login, with data of their own. */
async function replaceAda({ tidemark }: TestTidemark, client?: string): Promise<void> {
  await tidemark.users.delete('ada');
  await tidemark.users.create({ attributes: { login: 'ada', password: 'long enough' } });
  await tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: { secret: { of: 'the new ada' } } });
  if (client !== undefined) await tidemark.clients.register('ada', { client_id: client });
}

const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`o${index}`, { n: index }]));

describe('the session of a device', () => {
  it.each(['Stock', 'Shared'])(
    '[DEVICE-12] a pull that waited for %s delivers nothing when its user was deleted and created again meanwhile',
    async (source) => {
      const test = await withSlowBackend();
      const { user, client } = await newCaller(test);
      const sources = new Map([
        ['Order', null],
        [source, null],
      ]);
      const pulled = refusalOf(test.tidemark.devices.pull({ user, client }, { sources }));
      await test.gate.reached;
      await replaceAda(test);
      test.gate.open();
      expect(await pulled).toBe('client_not_found');
    },
  );

  it('[DEVICE-12] a pull delivers nothing when the new user registered a device of the same id meanwhile', async () => {
    const test = await withSlowBackend();
    const { user, client } = await newCaller(test);
    const sources = new Map([
      ['Order', null],
      ['Shared', null],
    ]);
    const pulled = refusalOf(test.tidemark.devices.pull({ user, client }, { sources }));
    await test.gate.reached;
    await replaceAda(test, client);
    test.gate.open();
    expect(await pulled).toBe('client_not_found');
  });

  it('[DEVICE-12] a pull delivers nothing when its token was revoked while it waited for a backend', async () => {
    const test = await withSlowBackend();
    const caller = await newCaller(test);
    const pulled = refusalOf(test.tidemark.devices.pull(caller, { sources: new Map([['Stock', null]]) }));
    await test.gate.reached;
    await test.tidemark.users.update('ada', { attributes: { password: 'another one' } });
    test.gate.open();
    expect(await pulled).toBe('token_invalid');
  });

  it('[DEVICE-12] a pull of a device that stays registered is answered, however often the device was written to', async () => {
    const test = await withSlowBackend();
    const caller = await newCaller(test);
    const pulled = test.tidemark.devices.pull(caller, { sources: new Map([['Stock', null]]) });
    await test.gate.reached;
    await test.tidemark.clients.update('ada', caller.client, { device_app_version: '2' });
    test.gate.open();
    const page = (await pulled).pages[0]?.page;
    if (page === undefined || 'error' in page) throw new Error('no page');
    expect((JSON.parse(pageJson(page.token, page.body)) as Page).put).toEqual({ s: { n: 1 } });
  });

  it('[DEVICE-12] a snapshot that waited for its backend delivers nothing of the next user', async () => {
    const test = await withSlowBackend();
    const { user, client } = await newCaller(test);
    const begun = refusalOf(test.tidemark.devices.snapshot({ user, client }, { source: 'Stock', token: null }));
    await test.gate.reached;
    await replaceAda(test, client);
    await test.tidemark.objects.push({ source: 'Stock', user_id: 'ada', objects: { secret: { of: 'the new ada' } } });
    test.gate.open();
    expect(await begun).toBe('client_not_found');
  });

  it('[SNAP-7] a snapshot under way delivers no line of the next user, at whatever speed it is read', async () => {
    const test = await newTidemark({ limits: { lineObjectsMax: 10 } });
    const { user, client } = await newCaller(test);
    await test.tidemark.objects.push({ source: 'Order', user_id: 'ada', objects: many(30) });
    const snapshot = await test.tidemark.devices.snapshot({ user, client }, { source: 'Order', token: null });
    await snapshot.next();
    await replaceAda(test, client);
    expect(await refusalOf(snapshot.next())).toBe('client_not_found');
  });

  it.each<[string, (test: TestTidemark, caller: DeviceCaller) => Promise<unknown>]>([
    ['token was revoked', ({ tidemark }, { tokenHash: hash = '' }) => tidemark.tokens.revoke(tokenId(hash))],
    [
      'password was changed',
      ({ tidemark }) => tidemark.users.update('ada', { attributes: { password: 'another one' } }),
    ],
  ])('[SNAP-8] a snapshot whose %s delivers no line that is read after that', async (_, end) => {
    const test = await newTidemark({ limits: { lineObjectsMax: 10 } });
    const caller = await newCaller(test);
    for (const source of ['Order', 'Product']) {
      const owner = source === 'Order' ? { user_id: 'ada' } : {};
      await test.tidemark.objects.push({ source, ...owner, objects: many(30) });
    }
    const own = await test.tidemark.devices.snapshot(caller, { source: 'Order', token: null });
    const shared = await test.tidemark.devices.snapshot(caller, { source: 'Product', token: null });
    for (const snapshot of [own, shared]) expect((await snapshot.next()).done).toBe(false);
    await end(test, caller);
    for (const snapshot of [own, shared]) expect(await refusalOf(snapshot.next())).toBe('token_invalid');
  });
});
