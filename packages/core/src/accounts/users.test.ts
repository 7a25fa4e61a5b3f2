import { DEFAULT_LIMITS, LIST_MAX, PASSWORD_BYTES_MAX, Refusal, type RefusalCode } from '@tidemark/protocol';
import { collectingLog, openMemoryStore, seededRandom, settableClock, weakPasswords } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { Clients } from '../devices/clients.ts';
import { readOwner, sharedPartition, userPartition } from '../ports/owner.ts';
import type { Passwords } from '../ports/passwords.ts';
import type { EntryKind, Store } from '../ports/store.ts';
import { Sources } from '../sources/sources.ts';
import { Tokens } from './tokens.ts';
import { Users } from './users.ts';

const KINDS: readonly EntryKind[] = ['user', 'client', 'user_client', 'source', 'token', 'user_token', 'setting'];

function setUp(change: { wrap?: (store: Store) => Store; passwords?: (real: Passwords) => Passwords } = {}) {
  const random = seededRandom(1);
  const memory = openMemoryStore({ random });
  const store = change.wrap?.(memory) ?? memory;
  const clock = settableClock();
  const passwords = (change.passwords ?? ((real) => real))(weakPasswords(random));
  const limits = { ...DEFAULT_LIMITS, userAttributesMax: 4, userAttributesUnitsMax: 200 };
  const ports = { store, clock, random, passwords, limits, log: collectingLog() };
  return {
    store: memory,
    clock,
    users: new Users(ports),
    clients: new Clients(ports),
    tokens: new Tokens(ports),
    sources: new Sources(ports),
  };
}

type Fixture = ReturnType<typeof setUp>;

type Batch = Parameters<Store['writeEntries']>[0];

/** Lets something happen after everything was looked at, just before a batch of the given sort is written. */
function before(store: Store, isMeant: (batch: Batch) => boolean, happen: () => Promise<unknown>, times = 1): Store {
  let left = times;
  return new Proxy(store, {
    get: (target, name) => {
      if (name !== 'writeEntries') return Reflect.get(target, name).bind(target);
      return async (batch: Batch) => {
        if (left > 0 && isMeant(batch)) {
          left -= 1;
          await happen();
        }
        return target.writeEntries(batch);
      };
    },
  });
}

const isErasure = (batch: Batch) => batch.erase !== undefined;
const isNewClient = (batch: Batch) => batch.writes.some(({ kind, value }) => kind === 'client' && value !== null);
const isUserChange = (batch: Batch) =>
  batch.writes.some(({ kind, value, expect: version }) => kind === 'user' && value !== null && version !== 0);

const alice = { login: 'alice', password: 'secret-1' };

async function refusal(work: Promise<unknown>): Promise<RefusalCode | 'nothing'> {
  try {
    await work;
    return 'nothing';
  } catch (error) {
    if (error instanceof Refusal) return error.code;
    throw error;
  }
}

/** Every entry, partition and document name there is, as one text. */
async function everythingIn(store: Store): Promise<string> {
  const entries = await Promise.all(
    KINDS.map(async (kind) =>
      (await store.listEntries({ kind, prefix: [], limit: 1e6 })).map(({ key, value }) => [kind, key, value]),
    ),
  );
  return JSON.stringify([entries.flat(), await store.partitions({ limit: 1e6 })]);
}

describe('create', () => {
  it('[USER-1] a user keeps every attribute with its exact JSON type', async () => {
    const { users } = setUp();
    const attributes = {
      age: 7,
      note: null,
      deep: { list: [1, 'x', false, { toString: 'text' }] },
      constructor: 'ordinary',
    };
    const made = await users.create({ attributes: { ...alice, ...attributes } });
    const expected = {
      login: 'alice',
      attributes,
      clients: 0,
      identity: null,
      created_at: '2023-11-14T22:13:20.000Z',
      updated_at: '2023-11-14T22:13:20.000Z',
    };
    expect(made).toEqual(expected);
    expect(await users.get('alice')).toEqual(expected);
  });

  it.each([
    ['no object', null, 'invalid_request'],
    ['a list', [], 'invalid_request'],
    ['no login', { password: 'x' }, 'invalid_request'],
    ['a login that is not a string', { login: 7, password: 'x' }, 'invalid_request'],
    ['an empty login', { login: '', password: 'x' }, 'invalid_name'],
    ['a login of 1,000 characters', { login: 'a'.repeat(1_000), password: 'x' }, 'invalid_name'],
    ['the login *', { login: '*', password: 'x' }, 'invalid_name'],
    ['the login __proto__', { login: '__proto__', password: 'x' }, 'invalid_name'],
    ['the login __shared__', { login: '__shared__', password: 'x' }, 'invalid_name'],
    ['a control character', { login: 'a\u0000b', password: 'x' }, 'invalid_name'],
    ['no password', { login: 'a' }, 'invalid_request'],
    ['a password that is not a string', { login: 'a', password: 1 }, 'invalid_request'],
    ['a null password', { login: 'a', password: null }, 'invalid_request'],
    ['an empty password', { login: 'a', password: '' }, 'invalid_value'],
    ['a lone surrogate as password', { login: 'a', password: '\ud800' }, 'invalid_value'],
    ['an unsafe number', { login: 'a', password: 'x', n: 2 ** 60 }, 'unsafe_number'],
    ['the key __proto__', JSON.parse('{"login":"a","password":"x","__proto__":{"admin":true}}'), 'forbidden_key'],
    ['the key __proto__ deep inside', JSON.parse('{"login":"a","password":"x","v":{"__proto__":1}}'), 'forbidden_key'],
  ] as const)('[USER-1] creating a user is refused, given %s', async (_what, attributes, code) => {
    const { users, store } = setUp();
    const before = await everythingIn(store);
    expect(await refusal(users.create({ attributes }))).toBe(code);
    expect(await everythingIn(store)).toBe(before);
  });

  it('[USER-2] of many users created with one login, also at once, the first succeeds and the others are refused', async () => {
    const { users } = setUp();
    const outcomes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => refusal(users.create({ attributes: { ...alice, n } }))),
    );
    expect(outcomes.filter((outcome) => outcome === 'nothing')).toHaveLength(1);
    expect(new Set(outcomes)).toEqual(new Set(['nothing', 'user_exists']));
    expect(await refusal(users.create({ attributes: alice }))).toBe('user_exists');
    expect(await users.count()).toBe(1);
  });

  it.each([
    'admin',
    'is_admin',
    'roles',
    'scopes',
    'permissions',
    'hashed_password',
    'password_hash',
    'password_salt',
    'salt',
    'token',
    'tokens',
    'api_token',
    'access_token',
    'Admin',
    'ROLES',
    'Password',
  ])('[USER-3] the reserved attribute %s is refused at creation and at update, and nothing changes', async (name) => {
    const { users, store } = setUp();
    await users.create({ attributes: alice });
    const before = await everythingIn(store);
    expect(await refusal(users.create({ attributes: { login: 'bob', password: 'x', [name]: true } }))).toBe(
      'reserved_attribute',
    );
    expect(await refusal(users.update('alice', { attributes: { ok: 1, [name]: true } }))).toBe('reserved_attribute');
    expect(await everythingIn(store)).toBe(before);
    expect(await users.isAdmin('alice')).toBe(false);
  });

  it('[USER-12] the number and size of attributes and the length of a password are limited', async () => {
    const { users } = setUp();
    const four = { a: 1, b: 2, c: 3, d: 4 };
    await users.create({ attributes: { ...alice, ...four } });
    expect(await refusal(users.create({ attributes: { login: 'bob', password: 'x', ...four, e: 5 } }))).toBe(
      'limit_exceeded',
    );
    expect(await refusal(users.update('alice', { attributes: { e: 5 } }))).toBe('limit_exceeded');
    expect(await refusal(users.update('alice', { attributes: { d: 'replaced' } }))).toBe('nothing');
    const textOf = (units: number) => 'x'.repeat(units - '{"t":""}'.length);
    expect(await refusal(users.create({ attributes: { login: 'c', password: 'x', t: textOf(200) } }))).toBe('nothing');
    expect(await refusal(users.create({ attributes: { login: 'd', password: 'x', t: textOf(201) } }))).toBe(
      'limit_exceeded',
    );
    const password = 'é'.repeat(PASSWORD_BYTES_MAX / 2);
    expect(await refusal(users.create({ attributes: { login: 'e', password } }))).toBe('nothing');
    expect(await refusal(users.create({ attributes: { login: 'f', password: `${password}x` } }))).toBe('invalid_value');
    expect(await users.verifyPassword('e', password)).not.toBeNull();
    expect(await users.verifyPassword('e', `${password}x`)).toBeNull();
  });
});

describe('answers', () => {
  it('[USER-4] no answer about a user contains a password, hash, salt, stamp or token', async () => {
    const { users, tokens, store } = setUp();
    const answers: unknown[] = [await users.create({ attributes: { ...alice, note: 'n' } })];
    const issued = await tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null });
    answers.push(
      await users.get('alice'),
      await users.list(),
      await users.update('alice', { attributes: { note: 'm' } }),
    );
    answers.push(await tokens.list(), await tokens.list({ user: 'alice' }));
    answers.push(await users.update('alice', { attributes: { password: 'secret-2' } }));
    const entry = await store.readEntry({ kind: 'user', key: ['alice'] });
    const { credential } = JSON.parse(entry?.value ?? '') as { credential: { passwordHash: string; stamp: string } };
    const secrets = ['secret-1', 'secret-2', issued.token, credential.stamp, ...credential.passwordHash.split('$')];
    for (const secret of secrets) expect(JSON.stringify(answers)).not.toContain(secret);
    expect(JSON.stringify(answers)).not.toMatch(/[0-9a-f]{64}|hash|salt|"password/);
  });
});

describe('list', () => {
  it('[USER-5] logins are listed in order, page by page', async () => {
    const { users } = setUp();
    for (const login of ['carol', 'alice', 'bob', 'a*b', 'Zoe', 'é']) {
      await users.create({ attributes: { login, password: 'x' } });
    }
    const all = await users.list();
    expect(all).toEqual(['Zoe', 'a*b', 'alice', 'bob', 'carol', 'é']);
    expect(await users.list({ limit: 2 })).toEqual(all.slice(0, 2));
    expect(await users.list({ after: 'a*b', limit: 2 })).toEqual(all.slice(2, 4));
    expect(await users.list({ after: 'bobby' })).toEqual(all.slice(4));
    expect(await users.list({ after: '', limit: 1 })).toEqual(['Zoe']);
    expect(await users.list({ after: 'é' })).toEqual([]);
  });

  it.each([[{ limit: 0 }], [{ limit: LIST_MAX + 1 }], [{ limit: 1.5 }], [{ limit: Number.NaN }]])(
    '[USER-5] a list with %j is refused',
    async (page) => {
      expect(await refusal(setUp().users.list(page))).toBe('invalid_value');
    },
  );
});

describe('update', () => {
  it('[USER-6] an update merges attributes, stores null as a value, and records its time', async () => {
    const { users, clock } = setUp();
    await users.create({ attributes: { ...alice, a: 1, b: { x: 1 } } });
    clock.advance(1_000);
    expect(await users.update('alice', { attributes: { login: 'alice', b: null, c: [] } })).toEqual({
      login: 'alice',
      attributes: { a: 1, b: null, c: [] },
      clients: 0,
      identity: null,
      created_at: '2023-11-14T22:13:20.000Z',
      updated_at: '2023-11-14T22:13:21.000Z',
    });
    const before = await users.get('alice');
    clock.advance(1_000);
    expect(await users.update('alice', { attributes: {} })).toEqual(before);
  });

  it('[USER-6] an update with another login, of an unknown user, or with an invalid body is refused', async () => {
    const { users } = setUp();
    await users.create({ attributes: alice });
    expect(await refusal(users.update('alice', { attributes: { login: 'bob' } }))).toBe('immutable_attribute');
    expect(await refusal(users.update('alice', { attributes: { login: null } }))).toBe('immutable_attribute');
    expect(await refusal(users.update('bob', { attributes: {} }))).toBe('user_not_found');
    expect(await refusal(users.update('alice', { attributes: 'x' }))).toBe('invalid_request');
    expect(await refusal(users.update('alice', { attributes: { password: null } }))).toBe('invalid_request');
    expect(await refusal(users.get('nobody'))).toBe('user_not_found');
    expect(await refusal(users.get('*'))).toBe('invalid_name');
  });

  it('[USER-6] concurrent updates of one user are all applied', async () => {
    const { users } = setUp();
    await users.create({ attributes: alice });
    await Promise.all(['a', 'b', 'c', 'd'].map((name) => users.update('alice', { attributes: { [name]: name } })));
    expect((await users.get('alice')).attributes).toEqual({ a: 'a', b: 'b', c: 'c', d: 'd' });
  });

  it('[USER-6] an update that conflicts every time fails after a bounded number of attempts', async () => {
    let attempts = 0;
    const wrap = (store: Store): Store =>
      new Proxy(store, {
        get: (target, name) => {
          if (name !== 'writeEntries') return Reflect.get(target, name).bind(target);
          return (batch: Parameters<Store['writeEntries']>[0]) => {
            if (batch.writes.some(({ expect }) => expect === 0)) return target.writeEntries(batch);
            attempts += 1;
            return Promise.resolve({ status: 'conflict' });
          };
        },
      });
    const { users } = setUp({ wrap });
    await users.create({ attributes: alice });
    expect(await refusal(users.update('alice', { attributes: { a: 1 } }))).toBe('write_conflict');
    expect(attempts).toBe(20);
  });
});

describe('a new password', () => {
  it('[USER-7] a new password replaces the old one and revokes all tokens of that user only', async () => {
    const { users, tokens, clock, store } = setUp();
    await users.create({ attributes: alice });
    await users.create({ attributes: { login: 'bob', password: 'x' } });
    const issue = (user: string) => tokens.issue({ user, scopes: ['device'], expiresAtMs: null });
    const [first, second, bobs] = [await issue('alice'), await issue('alice'), await issue('bob')];
    await users.update('alice', { attributes: { password: 'secret-2' } });
    expect(await users.verifyPassword('alice', 'secret-1')).toBeNull();
    expect(await users.verifyPassword('alice', 'secret-2')).toMatchObject({ login: 'alice' });
    expect(await tokens.bearers.check(first.token, clock.nowMs())).toBeNull();
    expect(await tokens.bearers.check(second.token, clock.nowMs())).toBeNull();
    expect(await tokens.bearers.check(bobs.token, clock.nowMs())).not.toBeNull();
    expect(await store.countEntries('user_token')).toBe(1);
  });

  it('[USER-15] a new password of an administrator keeps named tokens, and revokes those of logins and devices', async () => {
    const { users, tokens, clients, clock } = setUp();
    await users.createAdmin({ login: 'root', password: 'secret-1' });
    await clients.register('root', { client_id: 'phone' });
    const issue = (more: object) => tokens.issue({ user: 'root', scopes: ['admin'], expiresAtMs: null, ...more });
    const session = await issue({});
    const service = await issue({ name: 'erp', scopes: ['push'] });
    const expired = await issue({ name: 'old', expiresAtMs: clock.nowMs() + 1 });
    const device = await issue({ name: 'named', client: 'phone', scopes: ['device'] });
    clock.advance(1);
    await users.update('root', { attributes: { password: 'secret-2' } });
    const good = await Promise.all(
      [session, service, device].map(({ token }) =>
        tokens.bearers.check(token, clock.nowMs()).then((bearer) => bearer !== null),
      ),
    );
    expect(good).toEqual([false, true, false]);
    expect((await tokens.serviceTokensOf('root', clock.nowMs())).map(({ id, name }) => [id, name])).toEqual([
      [service.id, 'erp'],
    ]);
    expect(expired.name).toBe('old');
    await users.update('root', { attributes: { password: 'secret-3' }, revoke_tokens: true });
    expect(await tokens.list({ user: 'root' })).toEqual([]);
  });

  it('[USER-15] a new password of any other user revokes named tokens, too', async () => {
    const { users, tokens } = setUp();
    await users.create({ attributes: alice });
    await tokens.issue({ user: 'alice', name: 'erp', scopes: ['push'], expiresAtMs: null });
    await users.update('alice', { attributes: { password: 'secret-2' } });
    expect(await tokens.list({ user: 'alice' })).toEqual([]);
  });

  it('[USER-7] a token requested with the old password is not valid after the change', async () => {
    const { users, tokens, clock } = setUp();
    await users.create({ attributes: alice });
    const verified = await users.verifyPassword('alice', 'secret-1');
    if (verified === null) throw new Error('the password is right');
    const login = { user: 'alice', scopes: ['device'], expiresAtMs: null, stamp: verified.stamp } as const;
    await users.update('alice', { attributes: { password: 'secret-2' } });
    expect(await refusal(tokens.issue(login))).toBe('invalid_credentials');
    expect(await tokens.list({ user: 'alice' })).toEqual([]);

    const again = await users.verifyPassword('alice', 'secret-2');
    const logins = Array.from({ length: 10 }, () =>
      tokens.issue({ ...login, stamp: again?.stamp ?? '' }).catch(() => null),
    );
    const [issued] = await Promise.all([
      Promise.all(logins),
      users.update('alice', { attributes: { password: 'secret-3' } }),
    ]);
    expect(await tokens.list({ user: 'alice' })).toEqual([]);
    for (const one of issued) if (one !== null) expect(await tokens.bearers.check(one.token, clock.nowMs())).toBeNull();
  });

  it('[USER-7] a change of password revokes a token that was issued just before its last step', async () => {
    let issued: { readonly token: string } | null = null;
    const fixture: Fixture = setUp({
      wrap: (store) =>
        before(store, isUserChange, async () => {
          issued = await fixture.tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null });
        }),
    });
    await fixture.users.create({ attributes: alice });
    await fixture.users.update('alice', { attributes: { password: 'secret-2' } });
    expect(issued).not.toBeNull();
    expect(await fixture.tokens.list()).toEqual([]);
    expect(await fixture.users.verifyPassword('alice', 'secret-2')).not.toBeNull();
  });

  it('[USER-7] a change of password revokes tokens at once, even if it then conflicts every time', async () => {
    const fixture: Fixture = setUp({
      wrap: (store) =>
        before(store, isUserChange, () => fixture.clients.register('alice', {}), Number.POSITIVE_INFINITY),
    });
    const { users, tokens, clock } = fixture;
    await users.create({ attributes: alice });
    const { token } = await tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null });
    expect(await refusal(users.update('alice', { attributes: { password: 'secret-2' } }))).toBe('write_conflict');
    expect(await tokens.bearers.check(token, clock.nowMs())).toBeNull();
    expect(await users.verifyPassword('alice', 'secret-1')).not.toBeNull();
  });

  it('[USER-7] a login that was checked for a deleted user gets no token of a new user with the same login and password', async () => {
    const { users, tokens } = setUp();
    await users.create({ attributes: alice });
    const verified = await users.verifyPassword('alice', 'secret-1');
    await users.delete('alice');
    await users.create({ attributes: alice });
    const call = { user: 'alice', scopes: ['device'], expiresAtMs: null, stamp: verified?.stamp ?? '' } as const;
    expect(await refusal(tokens.issue(call))).toBe('invalid_credentials');
    expect(await tokens.list()).toEqual([]);
  });
});

describe('delete', () => {
  it('[USER-8] deleting a user deletes all their data and nothing of other users', async () => {
    const { users, clients, tokens, sources, store } = setUp();
    for (const name of ['Product', 'News']) {
      await sources.declare({ name, partition_type: name === 'News' ? 'app' : 'user' });
    }
    await users.create({ attributes: { login: 'bob', password: 'x' } });
    await clients.register('bob', { client_id: 'bobs-phone' });
    await tokens.issue({ user: 'bob', scopes: ['device'], client: 'bobs-phone', expiresAtMs: null });
    const commit = (user: string | null, source: string) =>
      store.commit({
        partition: { source, owner: readOwner(user) },
        changes: [{ id: '1', record: 'r', checksum: 1 }],
        guards: [],
      });
    await commit('bob', 'Product');
    await commit(null, 'News');
    await sources.refreshTimes.set('News', 'bob', 5);
    await sources.refreshTimes.set('Product', 'bob', 5);
    const before = await everythingIn(store);

    await users.create({ attributes: alice });
    await commit('alice', 'Product');
    await sources.refreshTimes.set('Product', 'alice', 5);
    for (const id of ['pad', 'phone']) {
      await clients.register('alice', { client_id: id });
      await tokens.issue({ user: 'alice', scopes: ['device'], client: id, expiresAtMs: null });
      const client = { kind: 'client', source: 'Product', client: id } as const;
      await store.writeDocument({
        key: { scope: client, name: 'd' },
        type: 'text',
        replace: true,
        parts: new Map([['0', 'x']]),
        guards: [],
      });
      await store.noteTidemark(
        sharedPartition('News'),
        { client: id, epoch: 'e', seq: 1, base: 1, start: null, seenAtMs: 1 },
        [],
      );
    }
    const scope = { kind: 'user', source: 'Product', user: 'alice' } as const;
    await store.writeDocument({
      key: { scope, name: 'd' },
      type: 'text',
      replace: true,
      parts: new Map([['0', 'x']]),
      guards: [],
    });

    expect(await users.delete('alice')).toEqual({ deleted: 'alice' });
    expect(await everythingIn(store)).toBe(before);
    expect(await store.documentNames(scope)).toEqual([]);
    expect(await store.documentNames({ kind: 'client', source: 'Product', client: 'pad' })).toEqual([]);
    expect(await store.listTidemarks(sharedPartition('News'), { limit: 10 })).toEqual([]);
    expect((await store.partition(sharedPartition('News'))).size).toBe(1);
    expect((await store.partition(userPartition('Product', 'alice'))).size).toBe(0);
    expect(await refusal(users.delete('alice'))).toBe('user_not_found');
  });

  it('[USER-8] deleting a user deletes all devices and tokens, also more than one page of them', async () => {
    const { users, store } = setUp();
    await users.create({ attributes: alice });
    const record = JSON.stringify({
      user: 'alice',
      name: null,
      scopes: ['device'],
      client: null,
      createdAtMs: 1,
      expiresAtMs: null,
    });
    const many = Array.from({ length: 2_500 }, (_, n) => String(n).padStart(5, '0'));
    await store.writeEntries({
      writes: many.flatMap((n) => [
        { kind: 'client', key: [n], value: '{"user":"alice"}' },
        { kind: 'user_client', key: ['alice', n], value: 'true' },
        { kind: 'token', key: [n], value: record },
        { kind: 'user_token', key: ['alice', n], value: record },
      ]),
      guards: [],
    });
    expect((await users.get('alice')).clients).toBe(2_500);
    await users.delete('alice');
    for (const kind of KINDS) expect(await store.countEntries(kind)).toBe(0);
  });

  const additions = {
    device: ({ clients }: Fixture) => clients.register('alice', {}),
    token: ({ tokens }: Fixture) => tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null }),
    'time of refresh': ({ sources }: Fixture) => sources.refreshTimes.set('Product', 'alice'),
    'time of refresh of a new source': async ({ sources }: Fixture) => {
      await refusal(sources.declare({ name: 'Late' }));
      return sources.refreshTimes.set('Late', 'alice');
    },
  };

  it.each(Object.entries(additions))(
    '[USER-9] deleting a user also deletes a %s added just before its last step',
    async (_what, add) => {
      const fixture: Fixture = setUp({ wrap: (store) => before(store, isErasure, () => add(fixture)) });
      await fixture.sources.declare({ name: 'Product' });
      await fixture.users.create({ attributes: alice });
      await fixture.users.delete('alice');
      expect(await everythingIn(fixture.store)).not.toContain('alice');
      expect(await refusal(add(fixture))).toBe('user_not_found');
      expect(await everythingIn(fixture.store)).not.toContain('alice');
    },
  );

  it('[USER-9] a device is refused when its user is deleted just before it is written', async () => {
    const fixture: Fixture = setUp({
      wrap: (store) => before(store, isNewClient, () => fixture.users.delete('alice')),
    });
    await fixture.users.create({ attributes: alice });
    expect(await refusal(fixture.clients.register('alice', { client_id: 'phone' }))).toBe('user_not_found');
    expect(await everythingIn(fixture.store)).not.toMatch(/alice|phone/);
  });

  it('[USER-9] nothing that is added while a user is deleted stays, in any order of the steps', async () => {
    const seen = new Set<string>();
    for (let spread = 0; spread < 20; spread++) {
      const fixture = setUp();
      await fixture.sources.declare({ name: 'Product' });
      await fixture.users.create({ attributes: alice });
      const added = Array.from({ length: 12 }, async (_, n) => {
        for (let turn = 0; turn < n * spread * 10; turn++) await Promise.resolve();
        return Promise.all(Object.values(additions).map((add) => refusal(add(fixture))));
      });
      const [, ...outcomes] = await Promise.all([fixture.users.delete('alice'), ...added]);
      for (const outcome of outcomes.flat()) seen.add(outcome);
      expect(await everythingIn(fixture.store)).not.toContain('alice');
    }
    expect(seen).toEqual(new Set(['nothing', 'user_not_found']));
  });

  it('[USER-9] deleting a user revokes tokens first, so that their holders cannot keep the deletion from finishing', async () => {
    const fixture: Fixture = setUp({
      wrap: (store) => before(store, isErasure, () => fixture.clients.register('alice', {}), Number.POSITIVE_INFINITY),
    });
    const { users, tokens, clock } = fixture;
    await users.create({ attributes: alice });
    const { token } = await tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null });
    expect(await refusal(users.delete('alice'))).toBe('write_conflict');
    expect(await tokens.bearers.check(token, clock.nowMs())).toBeNull();
    expect(await users.has('alice')).toBe(true);
  });

  it('[USER-9] of two concurrent deletions of one user, one succeeds', async () => {
    const { users } = setUp();
    await users.create({ attributes: alice });
    const outcomes = await Promise.all([refusal(users.delete('alice')), refusal(users.delete('alice'))]);
    expect(outcomes.sort()).toEqual(['nothing', 'user_not_found']);
  });

  it('[USER-9] a user who is created again during the deletion is complete', async () => {
    const { users } = setUp();
    await users.create({ attributes: alice });
    await Promise.all([users.delete('alice'), refusal(users.create({ attributes: { ...alice, n: 2 } }))]);
    const outcome = await refusal(users.get('alice'));
    expect(['nothing', 'user_not_found']).toContain(outcome);
    if (outcome === 'nothing') expect(await users.verifyPassword('alice', 'secret-1')).not.toBeNull();
  });
});

describe('administrators', () => {
  it('[USER-10] an administrator is a user with a flag that is not an attribute', async () => {
    const { users } = setUp();
    await users.createAdmin({ login: 'root', password: 'x' });
    await users.create({ attributes: alice });
    expect(await users.isAdmin('root')).toBe(true);
    expect(await users.isAdmin('alice')).toBe(false);
    expect(await users.isAdmin('nobody')).toBe(false);
    expect(await users.admins()).toEqual(['root']);
    expect((await users.get('root')).attributes).toEqual({});
    expect(await refusal(users.createAdmin({ login: 'alice', password: 'x' }))).toBe('user_exists');
    expect(await users.isAdmin('alice')).toBe(false);
    expect(await users.verifyPassword('root', 'x')).toMatchObject({ login: 'root', admin: true });
  });

  it('[USER-10] the last administrator cannot be deleted, and no administrator can delete themselves', async () => {
    const { users, store } = setUp();
    await users.createAdmin({ login: 'root', password: 'x' });
    const before = await everythingIn(store);
    expect(await refusal(users.delete('root'))).toBe('last_admin');
    expect(await everythingIn(store)).toBe(before);
    await users.createAdmin({ login: 'second', password: 'x' });
    expect(await refusal(users.delete('root', 'root'))).toBe('last_admin');
    expect(await refusal(users.delete('root', 'second'))).toBe('nothing');
    expect(await refusal(users.delete('second'))).toBe('last_admin');
    expect(await users.admins()).toEqual(['second']);
  });

  it('[USER-10] of two administrators who delete each other at once, one stays', async () => {
    const { users } = setUp();
    for (const login of ['a', 'b', 'c']) await users.createAdmin({ login, password: 'x' });
    const outcomes = await Promise.all(['a', 'b', 'c'].map((login) => refusal(users.delete(login))));
    expect(outcomes.sort()).toEqual(['last_admin', 'nothing', 'nothing']);
    expect(await users.admins()).toHaveLength(1);
  });
});

describe('verifyPassword', () => {
  it('[USER-11] an unknown user and a wrong password cost the same work and get the same answer', async () => {
    const verified: string[] = [];
    let hashes = 0;
    const { users } = setUp({
      passwords: (real) => ({
        ...real,
        hash: (password) => {
          hashes += 1;
          return real.hash(password);
        },
        verify: (password, hash) => {
          verified.push(password);
          return real.verify(password, hash);
        },
      }),
    });
    await users.create({ attributes: alice });
    await users.ensure('vouched-for');
    for (const login of ['alice', 'nobody', 'vouched-for', '*', '', 'a\u0000', '__proto__']) {
      expect(await users.verifyPassword(login, 'wrong')).toBeNull();
    }
    expect(verified).toEqual(new Array(7).fill('wrong'));
    // One for alice, one for nobody.
    expect(hashes).toBe(2);
    expect(await users.verifyPassword('alice', 'secret-1')).toEqual({
      login: 'alice',
      admin: false,
      stamp: expect.any(String),
    });
    expect(await users.verifyPassword('alice', '')).toBeNull();
  });

  it('[USER-11] checking passwords works again after hashing for an unknown user has failed once', async () => {
    let failures = 1;
    const { users } = setUp({
      passwords: (real) => ({
        ...real,
        hash: async (password) => {
          failures -= 1;
          if (failures >= 0) throw new Error('no memory');
          return real.hash(password);
        },
      }),
    });
    await expect(users.verifyPassword('nobody', 'x')).rejects.toThrow('no memory');
    expect(await users.verifyPassword('nobody', 'x')).toBeNull();
  });
});

describe('a password with weaker hash parameters', () => {
  async function outdated(change: Parameters<typeof setUp>[0] = {}) {
    const random = seededRandom(2);
    const stronger = weakPasswords(random, 2);
    let isToday = false;
    const fixture = setUp({
      ...change,
      passwords: (real) => ({
        verify: real.verify,
        hash: (password) => (isToday ? stronger : real).hash(password),
        isOutdated: (hash) => (isToday ? stronger : real).isOutdated(hash),
        ...change.passwords?.(stronger),
      }),
    });
    await fixture.users.create({ attributes: { ...alice, note: 'n' } });
    const { token } = await fixture.tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null });
    isToday = true;
    const hash = async () => {
      const entry = await fixture.store.readEntry({ kind: 'user', key: ['alice'] });
      return (JSON.parse(entry?.value ?? '') as { credential: { passwordHash: string } }).credential.passwordHash;
    };
    return { ...fixture, token, hash };
  }

  it('[USER-14] a password with weaker hash parameters is hashed again once, at the next login, and nothing else changes', async () => {
    const { users, tokens, clock, token, hash } = await outdated();
    const old = await hash();
    expect(await users.verifyPassword('alice', 'wrong')).toBeNull();
    expect(await hash()).toBe(old);
    const before = await users.verifyPassword('alice', 'secret-1');
    const renewed = await hash();
    expect([old.split('$')[0], renewed.split('$')[0]]).toEqual(['weak-scrypt-1', 'weak-scrypt-2']);
    expect(await users.verifyPassword('alice', 'secret-1')).toEqual(before);
    expect(await hash()).toBe(renewed);
    expect((await users.get('alice')).attributes).toEqual({ note: 'n' });
    expect(await tokens.bearers.check(token, clock.nowMs())).toMatchObject({ user: 'alice' });
    // A token asked for with what was right before the renewal is issued after it.
    const login = { user: 'alice', scopes: ['device'], expiresAtMs: null, stamp: before?.stamp ?? '' } as const;
    expect(await refusal(tokens.issue(login))).toBe('nothing');
  });

  it('[USER-14] hashing a password again does not undo a change of the password at the same time', async () => {
    let fixture: Fixture | null = null;
    const change = () => fixture?.users.update('alice', { attributes: { password: 'secret-2' } }) ?? Promise.resolve();
    fixture = await outdated({ wrap: (store) => before(store, isUserChange, change) });
    await fixture.users.verifyPassword('alice', 'secret-1');
    expect(await fixture.users.verifyPassword('alice', 'secret-1')).toBeNull();
    expect(await fixture.users.verifyPassword('alice', 'secret-2')).toMatchObject({ login: 'alice' });
  });

  it('[USER-14] a login succeeds even if hashing the password again fails', async () => {
    const full = async () => {
      throw new Refusal('store_full', 'the disk is full');
    };
    const { users } = await outdated({ wrap: (store) => before(store, isUserChange, full) });
    expect(await users.verifyPassword('alice', 'secret-1')).toMatchObject({ login: 'alice' });
    const busy = async () => {
      throw new Refusal('overloaded', 'too many passwords');
    };
    let isBusy = false;
    const other = await outdated({
      passwords: (stronger) => ({
        ...stronger,
        hash: (password) => (isBusy ? busy() : stronger.hash(password)),
        isOutdated: () => isBusy,
      }),
    });
    // The hash that unknown users are compared with is made once, at the first login.
    await other.users.verifyPassword('alice', 'wrong');
    isBusy = true;
    expect(await other.users.verifyPassword('alice', 'secret-1')).toMatchObject({ login: 'alice' });
  });
});

describe('ensure', () => {
  it('[USER-13] `ensure` creates a user without a password once, and does not change an existing user', async () => {
    const { users } = setUp();
    await users.create({ attributes: { ...alice, a: 1 } });
    await Promise.all([users.ensure('alice'), users.ensure('bob'), users.ensure('bob')]);
    expect((await users.get('alice')).attributes).toEqual({ a: 1 });
    expect(await users.list()).toEqual(['alice', 'bob']);
    expect(await users.verifyPassword('bob', 'x')).toBeNull();
    await users.update('bob', { attributes: { password: 'now' } });
    expect(await users.verifyPassword('bob', 'now')).toMatchObject({ login: 'bob', admin: false });
    expect(await refusal(users.ensure('*'))).toBe('invalid_name');
  });
});
