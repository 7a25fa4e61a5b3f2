import { DEFAULT_LIMITS, Refusal, type RefusalCode } from '@tidemark/protocol';
import { collectingLog, openMemoryStore, seededRandom, settableClock, weakPasswords } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { Tokens } from '../accounts/tokens.ts';
import { Users } from '../accounts/users.ts';
import { Clients } from '../devices/clients.ts';
import type { EntryKind, Store } from '../ports/store.ts';
import { Sources } from '../sources/sources.ts';
import { System, type SystemPorts } from './system.ts';

const KINDS: readonly EntryKind[] = ['user', 'client', 'user_client', 'source', 'token', 'user_token', 'setting'];

type Settings = Pick<SystemPorts, 'version' | 'isResetAllowed' | 'urlRules' | 'keptOnReset'>;

function setUp(settings: Settings = {}, seed = 1, shared?: Store) {
  const random = seededRandom(seed);
  const store = shared ?? openMemoryStore({ random });
  const clock = settableClock();
  const ports = {
    store,
    clock,
    random,
    passwords: weakPasswords(random),
    limits: DEFAULT_LIMITS,
    log: collectingLog(),
  };
  const registry = {
    users: new Users(ports),
    clients: new Clients(ports),
    sources: new Sources(ports),
    tokens: new Tokens(ports),
  };
  return { store, clock, ...registry, system: new System({ ...ports, ...registry, ...settings }) };
}

const start = { adminLogin: 'root', adminPassword: 'given', configuredSources: [], licensee: null } as const;

async function refusal(work: Promise<unknown>): Promise<RefusalCode | 'nothing'> {
  try {
    await work;
    return 'nothing';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

describe('bootstrap', () => {
  it('[SYSTEM-1] the first start creates the administrator with the given password', async () => {
    const { system, users } = setUp();
    const first = await system.bootstrap(start);
    expect(first).toEqual({ adminLogin: 'root', adminCreated: true, generatedPassword: null });
    expect(await users.verifyPassword('root', 'given')).toMatchObject({ admin: true });
  });

  it('[SYSTEM-1] the first start without a password generates one and returns it once', async () => {
    const { system, users, store } = setUp();
    const { generatedPassword } = await system.bootstrap({ ...start, adminPassword: null });
    expect(generatedPassword).toMatch(/^[0-9A-Za-z]{22}$/);
    expect(await users.verifyPassword('root', generatedPassword ?? '')).toMatchObject({ admin: true });
    const again = await system.bootstrap({ ...start, adminPassword: null });
    expect(again).toEqual({ adminLogin: 'root', adminCreated: false, generatedPassword: null });
    const raw = await Promise.all(KINDS.map((kind) => store.listEntries({ kind, prefix: [], limit: 99 })));
    expect(JSON.stringify(raw)).not.toContain(generatedPassword);
  });

  it('[SYSTEM-1] later starts do not change the administrators', async () => {
    const { system, users } = setUp();
    await system.bootstrap(start);
    await users.update('root', { attributes: { password: 'changed' } });
    await system.bootstrap({ ...start, adminPassword: 'other' });
    await system.bootstrap({ ...start, adminLogin: 'somebody' });
    expect(await users.admins()).toEqual(['root']);
    expect(await users.verifyPassword('root', 'changed')).not.toBeNull();
  });

  it('[SYSTEM-1] servers that start at once on one store create one administrator', async () => {
    const store = openMemoryStore({ random: seededRandom(9) });
    const servers = [1, 2, 3].map((seed) => setUp({}, seed, store));
    const outcomes = await Promise.all(
      servers.map(({ system }) => system.bootstrap({ ...start, adminPassword: null })),
    );
    const generated = outcomes.filter(({ generatedPassword }) => generatedPassword !== null);
    expect(generated).toHaveLength(1);
    expect(await servers[0]?.users.verifyPassword('root', generated[0]?.generatedPassword ?? '')).not.toBeNull();
  });

  it('[SYSTEM-1] the first start with an invalid password is refused', async () => {
    expect(await refusal(setUp().system.bootstrap({ ...start, adminPassword: '' }))).toBe('invalid_value');
  });

  it('[SYSTEM-2] every start declares the configured sources and updates them', async () => {
    const { system, sources } = setUp();
    await system.bootstrap({ ...start, configuredSources: [{ name: 'A', poll_interval: 5 }, { name: 'B' }] });
    await system.bootstrap({ ...start, configuredSources: [{ name: 'A', poll_interval: 9 }] });
    expect(await sources.get('A')).toMatchObject({ poll_interval: 9, configured: true });
    expect(await sources.get('B')).toMatchObject({ configured: false });
  });
});

describe('reset', () => {
  it('[SYSTEM-3] a reset keeps administrators, the token of the caller and configured sources, and deletes everything else', async () => {
    const { system, users, clients, sources, tokens, clock, store } = setUp({
      keptOnReset: [{ kind: 'setting', key: ['secret'] }],
    });
    await system.bootstrap({ ...start, configuredSources: [{ name: 'Configured' }], licensee: 'Example Ltd' });
    const before = await store.epoch();
    await store.writeEntries({ writes: [{ kind: 'setting', key: ['secret'], value: 's' }], guards: [] });
    await sources.declare({ name: 'Declared' });
    await users.create({ attributes: { login: 'alice', password: 'x' } });
    await clients.register('alice', {});
    await clients.register('root', {});
    await sources.refreshTimes.set('Configured', 'alice');
    await system.setAppserver({ adapter_url: 'http://backend.example/' });
    const issue = (user: string) =>
      tokens.issue({ user, scopes: user === 'root' ? ['admin', 'admin:reset'] : ['device'], expiresAtMs: null });
    const [mine, other, hers] = [await issue('root'), await issue('root'), await issue('alice')];

    const { epoch } = await system.reset({ keepTokenId: mine.id });
    expect(epoch).toBe(await store.epoch());
    expect(epoch).not.toBe(before);
    expect(await users.list()).toEqual(['root']);
    expect(await users.verifyPassword('root', 'given')).toMatchObject({ admin: true });
    expect((await users.get('root')).clients).toBe(0);
    expect((await sources.list()).map(({ name }) => name)).toEqual(['Configured']);
    expect(await tokens.bearers.check(mine.token, clock.nowMs())).toMatchObject({
      user: 'root',
      scopes: ['admin', 'admin:reset'],
    });
    expect(await tokens.bearers.check(other.token, clock.nowMs())).toBeNull();
    expect(await tokens.bearers.check(hers.token, clock.nowMs())).toBeNull();
    expect(await system.appserver()).toEqual({ adapter_url: null });
    expect(await system.license()).toMatchObject({ licensee: 'Example Ltd', devices: 0 });
    const settings = await store.listEntries({ kind: 'setting', prefix: [], limit: 99 });
    expect(settings.map(({ key }) => key)).toEqual([['admin', 'root'], ['license'], ['life', 'root'], ['secret']]);
    for (const [kind, count] of [
      ['token', 1],
      ['user_token', 1],
      ['client', 0],
      ['user_client', 0],
    ] as const) {
      expect(await store.countEntries(kind)).toBe(count);
    }
  });

  it('[SYSTEM-3] after a reset the last administrator is still protected, and tokens can be revoked', async () => {
    const { system, users, tokens, clients } = setUp();
    await system.bootstrap(start);
    const { id } = await tokens.issue({ user: 'root', scopes: ['admin'], expiresAtMs: null });
    await system.reset({ keepTokenId: id });
    expect(await refusal(users.delete('root'))).toBe('last_admin');
    await users.create({ attributes: { login: 'alice', password: 'x' } });
    await clients.register('alice', {});
    await users.delete('alice');
    expect(await tokens.revoke(id)).toEqual({ revoked: id });
    expect(await tokens.list({ user: 'root' })).toEqual([]);
  });

  it.each([
    ['an unknown token', () => '0'.repeat(16)],
    ['a token of somebody who is no administrator', ({ alices }: Ids) => alices],
    ['a token of a device', ({ devices }: Ids) => devices],
  ] as const)('[SYSTEM-3] a reset that names %s keeps no token', async (_what, choose) => {
    const { system, users, tokens, clients } = setUp();
    await system.bootstrap(start);
    await users.create({ attributes: { login: 'alice', password: 'x' } });
    await clients.register('root', { client_id: 'phone' });
    const issue = async (user: string, client: string | null) =>
      (await tokens.issue({ user, client, scopes: ['device'], expiresAtMs: null })).id;
    const ids: Ids = { alices: await issue('alice', null), devices: await issue('root', 'phone') };
    await system.reset({ keepTokenId: choose(ids) });
    expect(await tokens.list()).toEqual([]);
  });

  it('[SYSTEM-4] a reset can be disabled', async () => {
    const { system, users, store } = setUp({ isResetAllowed: false });
    await system.bootstrap(start);
    const epoch = await store.epoch();
    expect(await refusal(system.reset())).toBe('reset_disabled');
    expect(await store.epoch()).toBe(epoch);
    expect(await users.has('root')).toBe(true);
  });
});

interface Ids {
  readonly alices: string;
  readonly devices: string;
}

describe('license', () => {
  it('[SYSTEM-5] the licence names the owner of the server, the date of its first start and the number of devices', async () => {
    const { system, clients, clock } = setUp({ version: '1.2.3' });
    await system.bootstrap({ ...start, licensee: 'Example Ltd' });
    const expected = {
      license: 'Apache-2.0',
      edition: 'community',
      licensee: 'Example Ltd',
      seats: null,
      devices: 0,
      available: null,
      issued: '2023-11-14T22:13:20.000Z',
      expires: null,
      version: '1.2.3',
    };
    expect(await system.license()).toEqual(expected);
    await clients.register('root', {});
    await clients.register('root', {});
    clock.advance(1e9);
    await system.bootstrap({ ...start, licensee: 'Renamed Ltd' });
    expect(await system.license()).toEqual({ ...expected, licensee: 'Renamed Ltd', devices: 2 });
  });

  it('[SYSTEM-5] the licence has no date before the first start', async () => {
    expect(await setUp().system.license()).toMatchObject({ licensee: null, issued: null, devices: 0 });
  });
});

describe('appserver', () => {
  it('[SYSTEM-11] the backend address is null until it is set, and a refused address changes nothing', async () => {
    const { system } = setUp({ urlRules: { ownOrigins: ['http://localhost:8080'], denyPrivate: false } });
    expect(await system.appserver()).toEqual({ adapter_url: null });
    const set = { adapter_url: 'http://localhost:3000/app' };
    expect(await system.setAppserver(set)).toEqual(set);
    for (const adapter_url of ['http://u:p@h/', 'http://localhost:8080/', 'http://169.254.169.254/', '']) {
      expect(await refusal(system.setAppserver({ adapter_url }))).toBe('url_not_allowed');
    }
    expect(await refusal(system.setAppserver({ adapter_url: 7 }))).toBe('invalid_request');
    expect(await refusal(system.setAppserver({ adapter_url: undefined }))).toBe('invalid_request');
    expect(await system.appserver()).toEqual(set);
    expect(await system.setAppserver({ adapter_url: null })).toEqual({ adapter_url: null });
    expect(await system.appserver()).toEqual({ adapter_url: null });
  });
});
