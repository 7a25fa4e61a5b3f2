import type { Passwords } from '@tidemark/core';
import { Caller, settableClock } from '@tidemark/testing';
import { ADMIN_PASSWORD, silentLog, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { LoginLimiter, networkOf } from '../auth/login-limiter.ts';
import { openPasswords } from '../auth/passwords.ts';
import { FAILED_LOGINS_PER_ACCOUNT_MAX, FAILED_LOGINS_PER_ADDRESS_MAX, LOGIN_KEYS_MAX } from '../limits.ts';

const LOGIN = '/rc/v1/system/login';
const RIGHT = { login: 'admin', password: ADMIN_PASSWORD };
/** More than are hashed and waited for at once. `npm run test:long` makes more. */
const LOGINS = process.env.TIDEMARK_LONG_TESTS === '1' ? 500 : 200;

let server: TestServer;
let stranger: Caller;

beforeAll(async () => {
  server = await startTestServer();
  stranger = new Caller(server.url, null);
});

afterAll(async () => {
  stranger.close();
  await server.close();
});

/** A separate server, because the test triggers its rate limits. */
async function anotherServer(passwords?: Passwords): Promise<{ server: TestServer; stranger: Caller }> {
  const other = await startTestServer({}, silentLog(), passwords);
  const caller = new Caller(other.url, null);
  onTestFinished(async () => {
    caller.close();
    await other.close();
  });
  return { server: other, stranger: caller };
}

describe('a login that is refused', () => {
  it('[HARD-1] a wrong password and an unknown login get the same answer', async () => {
    const wrong = await stranger.post(LOGIN, { login: 'admin', password: 'wrong' });
    const unknown = await stranger.post(LOGIN, { login: 'nobody', password: 'wrong' });
    expect([wrong.status, wrong.code]).toEqual([401, 'invalid_credentials']);
    const withoutRequestId = ({ body }: typeof wrong) => ({ ...(body as object), request_id: null });
    expect(withoutRequestId(unknown)).toEqual(withoutRequestId(wrong));
  });

  it.each([[undefined], [null], [7], [['x']], [{}], [true]])(
    '[HARD-2] the password %j is refused',
    async (password) => {
      expect(await stranger.post(LOGIN, { login: 'admin', password })).toMatchObject({
        status: 400,
        code: 'invalid_request',
      });
    },
  );

  it('[HARD-3] an empty password is refused', async () => {
    expect(await stranger.post(LOGIN, { login: 'admin', password: '' })).toMatchObject({ code: 'invalid_credentials' });
  });

  it('[HARD-4] a login that is a query expression is refused', async () => {
    for (const login of [{ $ne: null }, { $gt: '' }, ['admin'], true]) {
      expect(await stranger.post(LOGIN, { ...RIGHT, login })).toMatchObject({ status: 400, code: 'invalid_request' });
    }
  });

  it('[HARD-7] a user who is not an administrator gets no token', async () => {
    const admin = new Caller(server.url, server.token);
    onTestFinished(() => admin.close());
    await admin.post('/rc/v1/users', { attributes: { login: 'anna', password: 'of anna' } });
    const reply = await stranger.post(LOGIN, { login: 'anna', password: 'of anna' });
    expect([reply.status, reply.code]).toEqual([403, 'forbidden']);
    expect(reply.text).not.toContain('tmk_');
  });

  it.each([
    ['application/x-www-form-urlencoded', `login=admin&password=${ADMIN_PASSWORD}`],
    ['multipart/form-data; boundary=x', '--x--'],
    ['text/plain', JSON.stringify(RIGHT)],
  ])('[HARD-8] a login sent as %s is refused', async (type, body) => {
    const reply = await stranger.postText(LOGIN, body, { 'content-type': type });
    expect([reply.status, reply.code]).toEqual([415, 'unsupported_media_type']);
  });
});

describe('guessing', () => {
  it('[HARD-5] the sixth failed login in a minute is refused unchecked, and so is a correct one', async () => {
    const { server: guessed, stranger: guesser } = await anotherServer();
    for (let attempt = 0; attempt < FAILED_LOGINS_PER_ADDRESS_MAX; attempt++) {
      expect((await guesser.post(LOGIN, { login: `user ${attempt}`, password: 'x' })).code).toBe('invalid_credentials');
    }
    const sixth = await guesser.post(LOGIN, { login: 'admin', password: 'x' });
    expect([sixth.status, sixth.code]).toEqual([429, 'rate_limited']);
    expect(Number(sixth.headers['retry-after'])).toBeGreaterThan(0);
    expect((await guesser.post(LOGIN, RIGHT)).code).toBe('rate_limited');
    const admin = new Caller(guessed.url, guessed.token);
    onTestFinished(() => admin.close());
    expect((await admin.get('/rc/v1/users')).body).toEqual(['admin']);
    // Refused attempts get no entries of their own, so that guessing cannot fill the disk.
    const trail = (await admin.get('/rc/v1/audit')).body as readonly { readonly result: string }[];
    expect(trail.filter(({ result }) => result === 'rate_limited')).toEqual([]);
    expect(trail.filter(({ result }) => result === 'invalid_credentials').length).toBe(FAILED_LOGINS_PER_ADDRESS_MAX);
  });

  it('[AUDIT-4] failed logins of one address for one account are one audit entry with a count', async () => {
    const { server: guessed, stranger: guesser } = await anotherServer();
    for (let attempt = 0; attempt < 3; attempt++) await guesser.post(LOGIN, { login: 'admin', password: 'x' });
    const admin = new Caller(guessed.url, guessed.token);
    onTestFinished(() => admin.close());
    const trail = (await admin.get('/rc/v1/audit')).body as readonly { readonly result: string }[];
    expect(trail.filter(({ result }) => result !== 'ok')).toMatchObject([
      { action: 'login', actor: 'admin', result: 'invalid_credentials', count: 3 },
    ]);
  });

  it('[HARD-5] the address is the one that the proxy saw, not one that the caller claims', async () => {
    const behind = await startTestServer({ trustProxy: true });
    const caller = new Caller(behind.url, null);
    onTestFinished(async () => {
      caller.close();
      await behind.close();
    });
    const guess = async (forwarded: string, login: string) =>
      (await caller.post(LOGIN, { login, password: 'x' }, { 'x-forwarded-for': forwarded })).code;
    for (let attempt = 0; attempt < FAILED_LOGINS_PER_ADDRESS_MAX; attempt++) {
      expect(await guess(`10.1.1.${attempt}, 10.0.0.1`, `user ${attempt}`)).toBe('invalid_credentials');
    }
    expect(await guess('10.1.1.99, 10.0.0.1', 'another')).toBe('rate_limited');
    expect(await guess('10.0.0.2', 'another')).toBe('invalid_credentials');
  });

  it('[HARD-5] an address with a port counts as the address, and a text that is no address as that of the connection', async () => {
    const behind = await startTestServer({ trustProxy: true });
    const caller = new Caller(behind.url, null);
    onTestFinished(async () => {
      caller.close();
      await behind.close();
    });
    const guess = async (forwarded: string, login: string) =>
      (await caller.post(LOGIN, { login, password: 'x' }, { 'x-forwarded-for': forwarded })).code;
    for (const texts of [
      (attempt: number) => `10.0.0.1:${4_000 + attempt}`,
      (attempt: number) => `[2001:db8::1]:${4_000 + attempt}`,
      (attempt: number) => `rubbish ${attempt}`,
    ]) {
      for (let attempt = 0; attempt < FAILED_LOGINS_PER_ADDRESS_MAX; attempt++) {
        expect(await guess(texts(attempt), `user ${attempt}`)).toBe('invalid_credentials');
      }
      expect(await guess(texts(99), 'another')).toBe('rate_limited');
    }
    for (const same of ['10.0.0.1', '2001:db8::1', '127.0.0.1'])
      expect(await guess(same, 'another')).toBe('rate_limited');
    expect(await guess('10.0.0.2:4000', 'another')).toBe('invalid_credentials');
  });

  it('[HARD-5] logins are accepted again after a minute', async () => {
    const clock = settableClock();
    const limiter = new LoginLimiter(clock);
    const fail = () => limiter.attempt('10.0.0.1', 'admin', async () => null);
    for (let attempt = 0; attempt < FAILED_LOGINS_PER_ADDRESS_MAX; attempt++) await fail();
    await expect(fail()).rejects.toMatchObject({ code: 'rate_limited', retryAfterS: 60 });
    clock.advance(59_000);
    await expect(fail()).rejects.toMatchObject({ code: 'rate_limited', retryAfterS: 1 });
    clock.advance(1_000);
    expect(await fail()).toBeNull();
  });

  it('[HARD-5] an account is protected across addresses, and other accounts are not affected', async () => {
    const limiter = new LoginLimiter(settableClock());
    const attempt = (address: number, login: string) =>
      limiter.attempt(`10.0.0.${address}`, login, async () => (login === 'good' ? login : null));
    for (let address = 0; address < FAILED_LOGINS_PER_ACCOUNT_MAX; address++) await attempt(address, 'admin');
    await expect(attempt(200, 'admin')).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await attempt(200, 'good')).toBe('good');
  });

  it('[HARD-5] an IPv6 network of 64 bits counts as one address', async () => {
    const limiter = new LoginLimiter(settableClock());
    const fail = (address: string, login: string) => limiter.attempt(address, login, async () => null);
    for (let attempt = 0; attempt < FAILED_LOGINS_PER_ADDRESS_MAX; attempt++) {
      await fail(`2001:db8:1:2::${attempt}`, `user ${attempt}`);
    }
    await expect(fail('2001:db8:1:2:ffff::9', 'another')).rejects.toMatchObject({ code: 'rate_limited' });
    expect(await fail('2001:db8:1:3::9', 'another')).toBeNull();
    expect(
      ['::1', '2001:DB8::', '2001:db8:0:0:1::', 'fe80::1%eth0', '::ffff:10.0.0.1', '10.0.0.1'].map(networkOf),
    ).toEqual(['0:0:0:0::/64', '2001:db8:0:0::/64', '2001:db8:0:0::/64', 'fe80:0:0:0::/64', '10.0.0.1', '10.0.0.1']);
  });

  it('[HARD-5] attempts that are refused unchecked do not evict the counters of others', async () => {
    const limiter = new LoginLimiter(settableClock());
    const fail = (address: string, login: string) => limiter.attempt(address, login, async () => null);
    for (let guesser = 0; guesser < FAILED_LOGINS_PER_ACCOUNT_MAX; guesser++) await fail(`10.0.0.${guesser}`, 'admin');
    for (let attempt = 0; attempt < FAILED_LOGINS_PER_ADDRESS_MAX; attempt++) await fail('10.9.9.9', `user ${attempt}`);
    for (let attempt = 0; attempt < LOGIN_KEYS_MAX; attempt++) {
      await fail('10.9.9.9', `random ${attempt}`).catch(() => undefined);
    }
    await expect(fail('10.8.8.8', 'admin')).rejects.toMatchObject({ code: 'rate_limited' });
  });

  it('[HARD-5] guessing in parallel gains nothing', async () => {
    const limiter = new LoginLimiter(settableClock());
    let tried = 0;
    const guesses = Array.from({ length: 100 }, () =>
      limiter
        .attempt('10.0.0.1', 'admin', async () => {
          tried++;
          await new Promise((resolve) => setImmediate(resolve));
          return null;
        })
        .catch((error: { readonly code: string }) => error.code),
    );
    const outcomes = await Promise.all(guesses);
    expect(tried).toBe(FAILED_LOGINS_PER_ADDRESS_MAX);
    expect(outcomes.filter((outcome) => outcome === 'rate_limited').length).toBe(100 - FAILED_LOGINS_PER_ADDRESS_MAX);
  });

  it('[HARD-6] of hundreds of concurrent logins each gets a token or a refusal with Retry-After, and memory stays bounded', async () => {
    // Hashed at full cost, because the memory of the hashes is what counts. 102 of them run or wait at once.
    const { server: crowded } = await anotherServer(await openPasswords());
    const crowd = Array.from({ length: 25 }, () => new Caller(crowded.url, null));
    onTestFinished(() => {
      for (const caller of crowd) caller.close();
    });
    const before = process.memoryUsage().rss;
    let peak = before;
    const replies = await Promise.all(
      Array.from({ length: LOGINS }, async (_, index) => {
        const reply = await (crowd[index % crowd.length] ?? stranger).post(LOGIN, RIGHT);
        peak = Math.max(peak, process.memoryUsage().rss);
        return reply.code ?? reply.status;
      }),
    );
    expect(new Set(replies)).toEqual(new Set([200, ...(replies.includes('overloaded') ? ['overloaded'] : [])]));
    expect(replies.filter((reply) => reply === 200).length).toBeGreaterThanOrEqual(100);
    expect(peak - before).toBeLessThan(200e6);
  });

  it('[HARD-6] a login body at the size limit is read, and a larger one is refused', async () => {
    const { stranger: caller } = await anotherServer();
    const login = 'x'.repeat(16_384 - JSON.stringify({ login: '', password: 'x' }).length);
    expect((await caller.post(LOGIN, { login, password: 'x' })).code).toBe('invalid_credentials');
    expect((await caller.post(LOGIN, { login: `${login}x`, password: 'x' })).code).toBe('body_too_large');
  });
});
