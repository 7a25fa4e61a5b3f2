import {
  DEFAULT_LIMITS,
  DEVICE_ATTRIBUTE_UNITS_MAX,
  DEVICE_TYPES,
  Refusal,
  type RefusalCode,
} from '@tidemark/protocol';
import { openMemoryStore, seededRandom, settableClock, weakPasswords } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { Tokens } from '../accounts/tokens.ts';
import { Users } from '../accounts/users.ts';
import type { Store } from '../ports/store.ts';
import { Clients, LAST_SYNC_EVERY_MS } from './clients.ts';

async function setUp(change: { wrap?: (store: Store) => Store; clientsPerUserMax?: number } = {}) {
  const random = seededRandom(1);
  const memory = openMemoryStore({ random });
  const { wrap = (store: Store) => store, ...bounds } = change;
  const clock = settableClock();
  const limits = DEFAULT_LIMITS;
  const ports = { store: wrap(memory), clock, random, passwords: weakPasswords(random), limits, ...bounds };
  const users = new Users(ports);
  for (const login of ['alice', 'bob']) await users.create({ attributes: { login, password: 'x' } });
  const another = () => new Clients(ports);
  return { store: memory, clock, users, clients: another(), another, tokens: new Tokens(ports) };
}

async function refusal(work: Promise<unknown>): Promise<RefusalCode | 'nothing'> {
  try {
    await work;
    return 'nothing';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

const blank = {
  device_type: null,
  device_pin: null,
  device_port: null,
  device_push_type: null,
  device_app_id: null,
  device_app_version: null,
  phone_id: null,
};

describe('register', () => {
  it('[CLIENT-1] every registered device gets its own id, and its attributes are stored', async () => {
    const { clients, users } = await setUp();
    const device = {
      device_type: 'android',
      device_pin: 'pin',
      device_port: '8675',
      device_push_type: 'fcm',
      device_app_id: 'com.example',
      device_app_version: '1.2',
      phone_id: 'p-1',
    };
    const made = await clients.register('alice', device);
    const view = {
      client_id: made.client_id,
      user_id: 'alice',
      ...device,
      last_sync: null,
      created_at: '2023-11-14T22:13:20.000Z',
      ...{ label: null, device_name: null, device_platform: null, device_system: null, schema_versions: null },
      wipe: null,
    };
    expect(made).toEqual(view);
    expect(await clients.get(made.client_id)).toEqual(view);
    expect(made.client_id).toMatch(/^[0-9A-Za-z]{22}$/);
    const other = await clients.register('alice', {});
    expect(other).toMatchObject({ ...blank, user_id: 'alice' });
    expect(other.client_id).not.toBe(made.client_id);
    expect(await clients.listOf('alice')).toEqual([made.client_id, other.client_id].sort());
    expect(await clients.listOf('bob')).toEqual([]);
    expect((await users.get('alice')).clients).toBe(2);
    expect(await clients.count()).toBe(2);
  });

  it('[CLIENT-2] a device may choose an id that is free or its own, and a taken id is refused', async () => {
    const { clients } = await setUp();
    await clients.register('alice', { client_id: 'phone', device_pin: 'a', phone_id: 'p' });
    const again = await clients.register('alice', { client_id: 'phone', device_pin: 'b' });
    expect(again).toMatchObject({ client_id: 'phone', device_pin: 'b', phone_id: 'p' });
    expect(await refusal(clients.register('bob', { client_id: 'phone', device_pin: 'c' }))).toBe('client_exists');
    expect(await clients.get('phone')).toMatchObject({ user_id: 'alice', device_pin: 'b' });
    expect(await clients.register('alice', { client_id: null })).toMatchObject({ user_id: 'alice' });
    expect(await clients.count()).toBe(2);
  });

  it('[CLIENT-2] of several devices that choose one id at once, one gets it', async () => {
    const { clients } = await setUp();
    const outcomes = await Promise.all(
      ['alice', 'bob', 'alice', 'bob'].map((user) => refusal(clients.register(user, { client_id: 'phone' }))),
    );
    expect(outcomes.filter((outcome) => outcome === 'client_exists')).toHaveLength(2);
    const owners = [...(await clients.listOf('alice')), ...(await clients.listOf('bob'))];
    expect(owners).toEqual(['phone']);
  });

  it.each([
    ['no object', 'x', 'invalid_request'],
    ['an unknown attribute', { color: 'red' }, 'invalid_request'],
    ['the key __proto__', JSON.parse('{"__proto__":{}}'), 'forbidden_key'],
    ['device_type User', { device_type: 'User' }, 'invalid_value'],
    ['device_type __proto__', { device_type: '__proto__' }, 'invalid_value'],
    ['device_type ../x', { device_type: '../x' }, 'invalid_value'],
    ['device_type 7', { device_type: 7 }, 'invalid_value'],
    ['a pin that is no text', { device_pin: {} }, 'invalid_value'],
    ['a torn surrogate', { phone_id: '\ud800' }, 'invalid_value'],
    ['a port that is none', { device_port: 65_536 }, 'invalid_value'],
    ['a port with a fraction', { device_port: 1.5 }, 'invalid_value'],
    ['last_sync', { last_sync: 'now' }, 'immutable_attribute'],
    ['created_at', { created_at: 'now' }, 'immutable_attribute'],
    ['user_id', { user_id: 'bob' }, 'immutable_attribute'],
    ['an id that is no name', { client_id: '*' }, 'invalid_name'],
    ['an id with a zero character', { client_id: 'a\0b' }, 'invalid_name'],
    ['an id that is no string', { client_id: 7 }, 'invalid_request'],
  ] as const)('[CLIENT-3] registering a device is refused, given %s', async (_what, attributes, code) => {
    const { clients } = await setUp();
    expect(await refusal(clients.register('alice', attributes))).toBe(code);
    expect(await clients.count()).toBe(0);
  });

  it('[CLIENT-3] all device types of the protocol and null are accepted, and a port is stored as text', async () => {
    const { clients } = await setUp();
    for (const device_type of [...DEVICE_TYPES, null]) {
      expect(await clients.register('alice', { device_type })).toMatchObject({ device_type });
    }
    expect(await clients.register('alice', { device_port: 8675 })).toMatchObject({ device_port: '8675' });
  });

  it('[CLIENT-3] an error does not repeat a refused device_pin, and its length is limited', async () => {
    const { clients } = await setUp();
    const device_pin = 's'.repeat(DEVICE_ATTRIBUTE_UNITS_MAX);
    expect(await refusal(clients.register('alice', { device_pin }))).toBe('nothing');
    const refused = clients.register('alice', { device_pin: `${device_pin}s` });
    await expect(refused).rejects.toMatchObject({ code: 'invalid_value', message: expect.not.stringContaining('sss') });
  });

  it('[CLIENT-3] registering a device is refused for an unknown user and beyond the limit', async () => {
    const { clients } = await setUp({ clientsPerUserMax: 2 });
    expect(await refusal(clients.register('nobody', {}))).toBe('user_not_found');
    expect(await refusal(clients.register('*', {}))).toBe('invalid_name');
    await clients.register('alice', { client_id: 'one' });
    await clients.register('alice', { client_id: 'two' });
    expect(await refusal(clients.register('alice', {}))).toBe('limit_exceeded');
    expect(await refusal(clients.register('alice', { client_id: 'two' }))).toBe('nothing');
    expect(await refusal(clients.register('bob', {}))).toBe('nothing');
  });

  /** How often each outcome came. */
  const tally = async (works: readonly Promise<unknown>[]) => {
    const counts: Partial<Record<RefusalCode | 'nothing', number>> = {};
    for (const outcome of await Promise.all(works.map(refusal))) counts[outcome] = (counts[outcome] ?? 0) + 1;
    return counts;
  };
  const names = (prefix: string, count: number) => Array.from({ length: count }, (_, index) => `${prefix}${index}`);
  const registerAll = (clients: Clients, ids: readonly string[]) =>
    ids.map((client_id) => clients.register('alice', { client_id }));

  it('[CLIENT-9] registering one after another stops exactly at the limit, and deleting a device makes room', async () => {
    const { clients } = await setUp({ clientsPerUserMax: 300 });
    for (const id of names('d', 300)) await clients.register('alice', { client_id: id });
    expect(await refusal(clients.register('alice', {}))).toBe('limit_exceeded');
    await clients.delete('alice', 'd7');
    expect(await refusal(clients.register('alice', { client_id: 'new' }))).toBe('nothing');
    expect(await refusal(clients.register('alice', {}))).toBe('limit_exceeded');
  });

  it('[CLIENT-9] concurrent registrations exceed the limit by at most their number, and later ones are refused', async () => {
    const { clients, another } = await setUp({ clientsPerUserMax: 50 });
    for (const id of names('d', 49)) await clients.register('alice', { client_id: id });
    const servers = [clients, another(), another()];
    const counts = await tally(servers.flatMap((server, index) => registerAll(server, names(`${index}-`, 10))));
    expect(counts.nothing).toBeGreaterThanOrEqual(1);
    expect((counts.nothing ?? 0) + (counts.limit_exceeded ?? 0)).toBe(30);
    expect(await clients.listOf('alice')).toHaveLength(49 + (counts.nothing ?? 0));
    expect(await tally(registerAll(another(), names('late', 10)))).toEqual({ limit_exceeded: 10 });
  });

  it('[CLIENT-9] a new user with the login of a deleted one starts without devices', async () => {
    const { clients, users } = await setUp({ clientsPerUserMax: 2 });
    await Promise.all(registerAll(clients, ['one', 'two']));
    await users.delete('alice');
    await users.create({ attributes: { login: 'alice', password: 'x' } });
    expect(await tally(registerAll(clients, ['one', 'two']))).toEqual({ nothing: 2 });
    expect(await refusal(clients.register('alice', { client_id: 'three' }))).toBe('limit_exceeded');
  });

  it('[CLIENT-9] registering the same device twice, also at the same moment, counts once', async () => {
    const { clients, another } = await setUp({ clientsPerUserMax: 3 });
    await clients.register('bob', { client_id: 'taken' });
    const both = (ids: readonly string[]) => [clients, another()].flatMap((server) => registerAll(server, ids));
    expect(await tally(both(['one', 'taken', 'two', 'two', 'one']))).toEqual({ nothing: 8, client_exists: 2 });
    expect(await tally(both(['one', 'three', 'three', 'two']))).toEqual({ nothing: 8 });
    expect(await clients.listOf('alice')).toEqual(['one', 'three', 'two']);
    expect(await refusal(clients.register('alice', {}))).toBe('limit_exceeded');
  });
});

describe('update', () => {
  it('[CLIENT-4] an update changes the given attributes and no others', async () => {
    const { clients } = await setUp();
    await clients.register('alice', { client_id: 'phone', device_pin: 'ab'.repeat(32), device_type: 'ios' });
    const changed = await clients.update('alice', 'phone', { client_id: 'phone', device_pin: null });
    expect(changed).toMatchObject({ device_pin: null, device_type: 'ios' });
    expect(await clients.get('phone')).toEqual(changed);
    const together = ['device_app_version', 'phone_id', 'device_app_id'].map((name) =>
      clients.update('alice', 'phone', { [name]: name }),
    );
    await Promise.all(together);
    expect(await clients.get('phone')).toMatchObject({
      device_app_version: 'device_app_version',
      phone_id: 'phone_id',
      device_app_id: 'device_app_id',
    });
  });

  it('[CLIENT-5] a device of another user gets the same answer as one that does not exist', async () => {
    const { clients } = await setUp();
    await clients.register('alice', { client_id: 'phone' });
    for (const id of ['phone', 'unknown']) {
      expect(await refusal(clients.update('bob', id, {}))).toBe('client_not_found');
      expect(await refusal(clients.delete('bob', id))).toBe('client_not_found');
    }
    expect(await refusal(clients.get('unknown'))).toBe('client_not_found');
    expect(await refusal(clients.update('alice', 'phone', { client_id: 'other' }))).toBe('immutable_attribute');
    expect(await clients.has('phone')).toBe(true);
  });
});

describe('delete', () => {
  it('[CLIENT-6] deleting a device deletes all its data', async () => {
    const { clients, tokens, clock, store } = await setUp();
    await clients.register('alice', { client_id: 'pad' });
    const kept = await tokens.issue({ user: 'alice', client: 'pad', scopes: ['device'], expiresAtMs: null });
    const loose = await tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null });
    await clients.register('alice', { client_id: 'phone' });
    const gone = await tokens.issue({ user: 'alice', client: 'phone', scopes: ['device'], expiresAtMs: null });
    const scope = { kind: 'client', source: 'S', client: 'phone' } as const;
    const parts = new Map([['0', 'x']]);
    await store.writeDocument({ key: { scope, name: 'd' }, type: 'text', replace: true, parts, guards: [] });

    expect(await clients.delete('alice', 'phone')).toEqual({ deleted: 'phone' });
    expect(await clients.listOf('alice')).toEqual(['pad']);
    expect(await refusal(clients.get('phone'))).toBe('client_not_found');
    expect(await refusal(clients.delete('alice', 'phone'))).toBe('client_not_found');
    expect(await store.documentNames(scope)).toEqual([]);
    expect(await tokens.bearers.check(gone.token, clock.nowMs())).toBeNull();
    expect(await tokens.bearers.check(kept.token, clock.nowMs())).not.toBeNull();
    expect(await tokens.bearers.check(loose.token, clock.nowMs())).not.toBeNull();
    expect(JSON.stringify(await store.listEntries({ kind: 'setting', prefix: [], limit: 99 }))).not.toContain('phone');
    expect(JSON.stringify(await store.listEntries({ kind: 'user_token', prefix: [], limit: 99 }))).not.toContain(
      'phone',
    );
  });

  it('[CLIENT-6] deleting a device also revokes a token issued just before its last step', async () => {
    let issue: (() => Promise<unknown>) | null = null;
    const wrap = (store: Store): Store =>
      new Proxy(store, {
        get: (target, name) => {
          if (name !== 'writeEntries') return Reflect.get(target, name).bind(target);
          return async (batch: Parameters<Store['writeEntries']>[0]) => {
            const happen = batch.erase === undefined ? null : issue;
            if (happen !== null) issue = null;
            await happen?.();
            return target.writeEntries(batch);
          };
        },
      });
    const { clients, tokens } = await setUp({ wrap });
    await clients.register('alice', { client_id: 'phone' });
    const call = { user: 'alice', client: 'phone', scopes: ['device'], expiresAtMs: null } as const;
    issue = () => tokens.issue(call);
    await clients.delete('alice', 'phone');
    expect(await tokens.list()).toEqual([]);
    expect(await refusal(tokens.issue(call))).toBe('client_not_found');
  });

  it('[CLIENT-6] many devices of one user can be deleted at once, and each deletion succeeds once', async () => {
    const { clients } = await setUp();
    const ids = Array.from({ length: 40 }, (_, n) => `d${n}`);
    await Promise.all(ids.map((client_id) => clients.register('alice', { client_id })));
    expect(await clients.listOf('alice')).toHaveLength(40);
    const outcomes = await Promise.all([...ids, ...ids].map((id) => refusal(clients.delete('alice', id))));
    expect(outcomes.filter((outcome) => outcome === 'nothing')).toHaveLength(40);
    expect(outcomes.filter((outcome) => outcome === 'client_not_found')).toHaveLength(40);
    expect(await clients.count()).toBe(0);
  });

  it('[CLIENT-5] a device of an unknown user gets user_not_found', async () => {
    const { clients } = await setUp();
    expect(await refusal(clients.listOf('nobody'))).toBe('user_not_found');
    expect(await refusal(clients.delete('nobody', 'x'))).toBe('user_not_found');
  });
});

describe('noteSync', () => {
  it('[CLIENT-7] the last sync of a device is recorded at most once a minute', async () => {
    const { clients, clock } = await setUp();
    await clients.register('alice', { client_id: 'phone' });
    const start = clock.nowMs();
    const lastSyncAfter = async (ms: number) => {
      await clients.noteSync('phone', start + ms);
      return (await clients.get('phone')).last_sync;
    };
    expect(await lastSyncAfter(0)).toBe('2023-11-14T22:13:20.000Z');
    expect(await lastSyncAfter(LAST_SYNC_EVERY_MS - 1)).toBe('2023-11-14T22:13:20.000Z');
    expect(await lastSyncAfter(LAST_SYNC_EVERY_MS)).toBe('2023-11-14T22:14:20.000Z');
    await clients.noteSync('unknown', start);
    expect(await clients.has('unknown')).toBe(false);
  });

  it('[CLIENT-7] recording the last sync neither restores a deleted device nor undoes an update', async () => {
    const { clients, clock } = await setUp();
    await clients.register('alice', { client_id: 'phone' });
    await Promise.all([
      clients.noteSync('phone', clock.nowMs()),
      clients.update('alice', 'phone', { device_pin: 'new' }),
      clients.noteSync('phone', clock.nowMs()),
    ]);
    expect((await clients.get('phone')).device_pin).toBe('new');
    await Promise.all([clients.delete('alice', 'phone'), clients.noteSync('phone', clock.nowMs() + 9e9)]);
    expect(await clients.has('phone')).toBe(false);
    expect(await clients.listOf('alice')).toEqual([]);
  });
});
