import { DEFAULT_LIMITS, DEVICE_TOKENS_MAX, ENDED_TOKENS_MS, Refusal, type RefusalCode } from '@tidemark/protocol';
import { openMemoryStore, seededRandom, settableClock, weakPasswords } from '@tidemark/testing';
import { describe, expect, it } from 'vitest';
import { Clients } from '../devices/clients.ts';
import type { Store } from '../ports/store.ts';
import { SCOPES } from './token-record.ts';
import { isTokenText, newTokenText, tokenHash } from './token-text.ts';
import { Tokens } from './tokens.ts';
import { Users } from './users.ts';

async function setUp(wrap: (store: Store) => Store = (store) => store) {
  const random = seededRandom(1);
  const memory = openMemoryStore({ random });
  const clock = settableClock();
  const ports = { store: wrap(memory), clock, random, passwords: weakPasswords(random), limits: DEFAULT_LIMITS };
  const users = new Users(ports);
  const clients = new Clients(ports);
  for (const login of ['alice', 'bob']) await users.create({ attributes: { login, password: 'x' } });
  await users.createAdmin({ login: 'root', password: 'x' });
  await clients.register('alice', { client_id: 'phone' });
  return { store: memory, clock, users, clients, tokens: new Tokens(ports) };
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

describe('a token', () => {
  it('[TOKEN-1] a token has a prefix, 256 random bits and a checksum', () => {
    const random = seededRandom(7);
    const seen = new Set(Array.from({ length: 500 }, () => newTokenText(random)));
    expect(seen.size).toBe(500);
    for (const token of seen) {
      expect(token).toMatch(/^tmk_[0-9A-Za-z]{49}$/);
      expect(isTokenText(token)).toBe(true);
    }
    const ones = newTokenText({ bytes: (count) => new Uint8Array(count).fill(255) });
    const zeros = newTokenText({ bytes: (count) => new Uint8Array(count) });
    expect(ones).toHaveLength(zeros.length);
    expect(isTokenText(ones) && isTokenText(zeros)).toBe(true);
  });

  it('[TOKEN-2] a token with one changed character is refused without reading the store', async () => {
    const looks: unknown[] = [];
    const { tokens, clock } = await setUp(
      (store) =>
        new Proxy(store, {
          get: (target, name) => {
            if (name !== 'readEntry') return Reflect.get(target, name).bind(target);
            return (ref: Parameters<Store['readEntry']>[0]) => {
              if (ref.kind === 'token') looks.push(ref);
              return target.readEntry(ref);
            };
          },
        }),
    );
    const { token } = await tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null });
    for (let index = 0; index < token.length; index++) {
      for (const other of ['0', 'z', 'Q', '-', '\n', '\u0000', 'é']) {
        if (token[index] === other) continue;
        const changed = token.slice(0, index) + other + token.slice(index + 1);
        expect(await tokens.bearers.check(changed, clock.nowMs())).toBeNull();
      }
    }
    for (const noise of ['', 'tmk_', `${token}x`, ` ${token}`, token.slice(1), 'x'.repeat(100_000)]) {
      expect(await tokens.bearers.check(noise, clock.nowMs())).toBeNull();
    }
    expect(looks).toEqual([]);
    expect(await tokens.bearers.check(token, clock.nowMs())).not.toBeNull();
    expect(looks).toHaveLength(1);
  });

  it('[TOKEN-3] a token is returned once, and stored only as a hash', async () => {
    const { tokens, store } = await setUp();
    const call = { user: 'alice', client: 'phone', name: 'my phone', scopes: ['device'], expiresAtMs: null } as const;
    const { token, ...view } = await tokens.issue(call);
    expect(view).toEqual({
      id: tokenHash(token).slice(0, 16),
      user: 'alice',
      name: 'my phone',
      scopes: ['device'],
      client: 'phone',
      created_at: '2023-11-14T22:13:20.000Z',
      expires_at: null,
    });
    expect(await tokens.list()).toEqual([view]);
    expect(await tokens.list({ user: 'alice' })).toEqual([view]);
    expect(await tokens.list({ user: 'bob' })).toEqual([]);
    const kinds = ['user', 'client', 'user_client', 'token', 'user_token', 'setting'] as const;
    const raw = await Promise.all(kinds.map((kind) => store.listEntries({ kind, prefix: [], limit: 99 })));
    expect(JSON.stringify(raw)).not.toContain(token.slice(4));
    expect(JSON.stringify(await tokens.list())).not.toContain(tokenHash(token));
  });
});

describe('check', () => {
  it('[TOKEN-4] a check returns the user and scope of a token until it expires', async () => {
    const { tokens, clock } = await setUp();
    const expiresAtMs = clock.nowMs() + 1_000;
    const { token, id } = await tokens.issue({ user: 'root', scopes: ['push', 'admin', 'push'], expiresAtMs });
    const tokenHash = expect.stringMatching(`^${id}[0-9a-f]{48}$`) as string;
    const rights = { user: 'root', scopes: ['admin', 'push'], client: null, expiresAtMs };
    const bearer = { tokenId: id, tokenHash, name: null, isByRole: false, ...rights };
    expect(await tokens.bearers.check(token, clock.nowMs())).toEqual(bearer);
    expect(await tokens.bearers.check(token, expiresAtMs - 1)).toEqual(bearer);
    expect(await tokens.bearers.check(token, expiresAtMs)).toBeNull();
    expect(await tokens.bearers.check(newTokenText(seededRandom(99)), clock.nowMs())).toBeNull();
  });

  it('[TOKEN-13] a check tells whether a role at an identity provider gave the scopes', async () => {
    const { tokens, clock } = await setUp();
    const call = { user: 'root', scopes: ['admin'], expiresAtMs: clock.nowMs() + 1_000 };
    const { token } = await tokens.issue({ ...call, isByRole: true });
    expect(await tokens.bearers.check(token, clock.nowMs())).toMatchObject({ isByRole: true });
  });
});

describe('issue', () => {
  it.each([
    ['an unknown user', { user: 'nobody' }, 'user_not_found'],
    ['a user that is not a string', { user: 7 }, 'invalid_request'],
    ['no scopes', { scopes: [] }, 'invalid_value'],
    ['an unknown scope', { scopes: ['read', 'root'] }, 'invalid_value'],
    ['scopes that are not a list', { scopes: 'read' }, 'invalid_request'],
    ['an expiry that has passed', { expiresAtMs: 1_700_000_000_000 }, 'invalid_value'],
    ['an expiry beyond the largest date', { expiresAtMs: 9e15 }, 'invalid_value'],
    ['an expiry with a fraction', { expiresAtMs: 1_800_000_000_000.5 }, 'invalid_value'],
    ['an empty name', { name: '' }, 'invalid_name'],
    ['a name that is not a string', { name: 7 }, 'invalid_request'],
    ['an unknown client', { client: 'pad' }, 'client_not_found'],
    ["somebody else's client", { user: 'bob', client: 'phone' }, 'client_not_found'],
    ['the scope admin for another user', { scopes: ['admin'] }, 'forbidden'],
    ['the scope admin:reset for another user', { scopes: ['read', 'admin:reset'] }, 'forbidden'],
    ['every scope for an administrator', { user: 'root', scopes: [...SCOPES] }, 'nothing'],
  ] as const)('[TOKEN-5] issuing a token follows the rules, given %s', async (_what, change, code) => {
    const { tokens } = await setUp();
    const call = { user: 'alice', scopes: ['device'], expiresAtMs: null, ...change };
    expect(await refusal(tokens.issue(call))).toBe(code);
    expect(await tokens.list()).toHaveLength(code === 'nothing' ? 1 : 0);
  });

  it('[TOKEN-5] many tokens can be issued for one user at once', async () => {
    const { tokens } = await setUp();
    const call = { user: 'alice', scopes: ['device'], expiresAtMs: null } as const;
    const issued = await Promise.all(Array.from({ length: 200 }, () => tokens.issue(call)));
    expect(new Set(issued.map(({ id }) => id)).size).toBe(200);
    expect(await tokens.list({ user: 'alice' })).toHaveLength(200);
  });
});

describe('revoke', () => {
  it('[TOKEN-6] a revocation ends one token or all tokens of a user, and none of other users', async () => {
    const { tokens, clock, store } = await setUp();
    const issue = (user: string) => tokens.issue({ user, scopes: ['device'], expiresAtMs: null });
    const [one, two, three, bobs] = [
      await issue('alice'),
      await issue('alice'),
      await issue('alice'),
      await issue('bob'),
    ];
    const works = async () =>
      Promise.all(
        [one, two, three, bobs].map(async ({ token }) => (await tokens.bearers.check(token, clock.nowMs())) !== null),
      );
    expect(await tokens.revoke(two.id)).toEqual({ revoked: two.id });
    expect(await works()).toEqual([true, false, true, true]);
    expect(await refusal(tokens.revoke(two.id))).toBe('token_not_found');
    expect(await tokens.revokeAllOf('alice')).toBe(2);
    expect(await works()).toEqual([false, false, false, true]);
    expect(await tokens.revokeAllOf('alice')).toBe(0);
    expect(await store.countEntries('token')).toBe(1);
    expect(await store.countEntries('user_token')).toBe(1);
  });

  it('[TOKEN-6] a revocation with an invalid or unknown id ends no token', async () => {
    const { tokens } = await setUp();
    const { id, token } = await tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null });
    const near = (id.startsWith('0') ? '1' : '0') + id.slice(1);
    for (const other of [
      '',
      '*',
      token,
      tokenHash(token),
      id.slice(0, 15),
      `${id.toUpperCase()}x`,
      '0'.repeat(16),
      near,
    ]) {
      expect(await refusal(tokens.revoke(other))).toBe('token_not_found');
    }
    const outcomes = await Promise.all([refusal(tokens.revoke(id)), refusal(tokens.revoke(id))]);
    expect(outcomes.sort()).toEqual(['nothing', 'token_not_found']);
  });
});

describe('list', () => {
  it('[TOKEN-7] tokens of one user or of all users are listed in pages', async () => {
    const { tokens } = await setUp();
    for (let count = 0; count < 5; count++) {
      for (const user of ['alice', 'bob']) await tokens.issue({ user, scopes: ['device'], expiresAtMs: null });
    }
    for (const whose of [{}, { user: 'alice' }]) {
      const all = await tokens.list(whose);
      const paged: unknown[] = [];
      let after: string | undefined;
      for (;;) {
        const page = await tokens.list({ ...whose, limit: 2, ...(after === undefined ? {} : { after }) });
        paged.push(...page);
        after = page.at(-1)?.id;
        if (after === undefined) break;
      }
      expect(paged).toEqual(all);
      expect(all).toHaveLength('user' in whose ? 5 : 10);
    }
    expect(await refusal(tokens.list({ limit: 0 }))).toBe('invalid_value');
    expect(await refusal(tokens.list({ after: 'x' }))).toBe('invalid_value');
  });
});

describe('the end of a token', () => {
  it('[TOKEN-12] why the token of a device has ended is known for a while, and then forgotten', async () => {
    const { tokens, users, clients, clock, store } = await setUp();
    const issue = async (expiresAtMs: number | null = null) => {
      const { token } = await tokens.issue({ user: 'alice', client: 'phone', scopes: ['device'], expiresAtMs });
      return tokens.bearers.hashOf(token) ?? '';
    };
    const signedOut = await issue();
    await tokens.revokeOfClient('alice', 'phone');
    const byPassword = await issue();
    await users.update('alice', { attributes: { password: 'y' } });
    const expired = await issue(clock.nowMs() + 1);
    const deleted = await issue();
    clock.advance(1);
    const ends = () => Promise.all([signedOut, byPassword, expired, deleted].map((hash) => tokens.bearers.endOf(hash)));
    await clients.delete('alice', 'phone');
    expect(await ends()).toEqual(['token_revoked', 'password_changed', 'client_deleted', 'client_deleted']);
    const { token } = await tokens.issue({ user: 'alice', scopes: ['read'], expiresAtMs: null });
    await tokens.revokeAllOf('alice');
    expect(await tokens.bearers.endOf(tokens.bearers.hashOf(token) ?? '')).toBe('token_invalid');
    clock.advance(ENDED_TOKENS_MS);
    await tokens.trimExpired(clock.nowMs());
    expect(await ends()).toEqual(Array(4).fill('token_invalid'));
    expect(await store.listEntries({ kind: 'setting', prefix: ['ended_token'], limit: 10 })).toEqual([]);
  });
});

describe('trimExpired', () => {
  it('[TOKEN-8] a trim deletes the expired tokens and no others', async () => {
    const { tokens, clock, store } = await setUp();
    const issue = (expiresAtMs: number | null) => tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs });
    const kept = [await issue(null), await issue(clock.nowMs() + 2_000)];
    for (let count = 0; count < 30; count++) await issue(clock.nowMs() + 1_000);
    clock.advance(1_000);
    expect(await tokens.trimExpired(clock.nowMs())).toBe(30);
    expect(await tokens.trimExpired(clock.nowMs())).toBe(0);
    expect((await tokens.list()).map(({ id }) => id)).toEqual(kept.map(({ id }) => id).sort());
    expect(await store.countEntries('user_token')).toBe(2);
  });
});

describe('tokens of a device', () => {
  const expiresAtMs = 2e12;
  const phone = { user: 'alice', client: 'phone', scopes: ['device'], expiresAtMs, isReturning: true };
  async function bearerOf({ tokens, clock }: Awaited<ReturnType<typeof setUp>>, token: string) {
    const bearer = await tokens.bearers.check(token, clock.nowMs());
    if (bearer === null) throw new Error('the token is not good');
    return bearer;
  }

  it('[TOKEN-9] renewing keeps the presented token and revokes older ones of the device', async () => {
    const fixture = await setUp();
    const { tokens, clock } = fixture;
    const isGood = async (token: string) => (await tokens.bearers.check(token, clock.nowMs())) !== null;
    const first = await tokens.issue(phone);
    clock.advance(1_000);
    const second = await tokens.renew(await bearerOf(fixture, first.token), expiresAtMs);
    expect(second).toMatchObject({ user: 'alice', client: 'phone', scopes: ['device'] });
    expect(await Promise.all([first, second].map(({ token }) => isGood(token)))).toEqual([true, true]);
    clock.advance(1_000);
    // The answer is lost, so it is asked for again: what came of the first attempt is left alone.
    const [third, fourth] = await Promise.all([
      tokens.renew(await bearerOf(fixture, second.token), expiresAtMs),
      tokens.renew(await bearerOf(fixture, second.token), expiresAtMs),
    ]);
    const all = [first, second, third, fourth];
    expect(await Promise.all(all.map(({ token }) => isGood(token)))).toEqual([false, true, true, true]);
  });

  it('[TOKEN-9] a token revoked by a change of password is not renewed, even when both happen at once', async () => {
    const fixture = await setUp();
    const { tokens, users } = fixture;
    const { token } = await tokens.issue(phone);
    const bearer = await bearerOf(fixture, token);
    await users.update('alice', { attributes: { password: 'new' } });
    expect(await refusal(tokens.renew(bearer, expiresAtMs))).toBe('token_invalid');
    const { token: next } = await tokens.issue(phone);
    const renewing = tokens.renew(await bearerOf(fixture, next), expiresAtMs).catch(() => null);
    await Promise.all([renewing, users.update('alice', { attributes: { password: 'newer' } })]);
    expect(await tokens.list({ user: 'alice' })).toEqual([]);
  });

  it('[TOKEN-10] a device keeps a bounded number of tokens, and older ones are revoked', async () => {
    const { tokens, clock } = await setUp();
    const issued: string[] = [];
    for (let count = 0; count < DEVICE_TOKENS_MAX + 3; count++) {
      issued.push((await tokens.issue(phone)).id);
      clock.advance(1);
    }
    const left = (await tokens.list({ user: 'alice' })).map(({ id }) => id);
    expect(left.sort()).toEqual(issued.slice(3).sort());
  });

  it('[TOKEN-10] the newest token stays valid when many are issued in the same millisecond', async () => {
    const { tokens, clock } = await setUp();
    for (let count = 0; count < DEVICE_TOKENS_MAX * 2; count++) {
      const { token } = await tokens.issue(phone);
      expect(await tokens.bearers.check(token, clock.nowMs())).not.toBeNull();
    }
    expect(await tokens.list({ user: 'alice' })).toHaveLength(DEVICE_TOKENS_MAX);
  });

  it('[TOKEN-10] signing out one device leaves the tokens of other devices valid', async () => {
    const fixture = await setUp();
    const { tokens, clients, clock } = fixture;
    await clients.register('alice', { client_id: 'tablet' });
    const gone = [await tokens.issue(phone), await tokens.issue(phone)];
    const kept = [
      await tokens.issue({ ...phone, client: 'tablet' }),
      await tokens.issue({ user: 'alice', scopes: ['device'], expiresAtMs: null }),
    ];
    const goodNow = (issued: readonly { token: string }[]) =>
      Promise.all(issued.map(({ token }) => tokens.bearers.isGood(tokenHash(token), clock.nowMs())));
    expect(await goodNow([...gone, ...kept])).toEqual([true, true, true, true]);
    expect(await tokens.revokeOfClient('alice', 'phone')).toBe(2);
    expect(await goodNow([...gone, ...kept])).toEqual([false, false, true, true]);
    clock.advance(expiresAtMs - clock.nowMs());
    expect(await goodNow(kept)).toEqual([false, true]);
  });
});
