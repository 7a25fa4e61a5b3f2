import { Refusal } from '@tidemark/protocol';
import { answerJson, type FakeBackend, newTidemark, openFakeBackend, refusalOf, seededRandom } from '@tidemark/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openBackend } from '../backend/open-backend.ts';
import { FAILED_LOGINS_PER_ADDRESS_MAX } from '../limits.ts';
import { deviceUser } from './device-user.ts';
import { LoginLimiter } from './login-limiter.ts';

const SECRET = 'shared with the backend';
const PASSWORD = 'open sesame 4711';
let fake: FakeBackend;

beforeEach(async () => {
  fake = await openFakeBackend(() => SECRET);
});

afterEach(() => fake.close());

async function setUp(isSet = true, loginsKeptMs = 0) {
  const { tidemark, clock, log, store } = await newTidemark({ loginsKeptMs });
  const config = {
    secret: SECRET,
    timeoutMs: 10_000,
    queryTimeoutMs: 10_000,
    pullWaitMs: 2_000,
    denyPrivate: false,
    offlineLoginS: 0,
  };
  const backend = openBackend({
    ...{ config, clock, steadyClock: clock, random: seededRandom(2), log, tidemark },
  });
  if (isSet) await tidemark.system.setAppserver({ adapter_url: fake.url });
  const logIn = (login: string, password: string) => deviceUser({ tidemark, backend }, login, password);
  const remembered = async () => {
    const kinds = await Promise.all(
      ['login', 'login_of'].map((kind) => store.listEntries({ kind: 'setting', prefix: [kind], limit: 100 })),
    );
    return kinds.flat();
  };
  return { tidemark, log, store, clock, logIn, remembered };
}

it('[BACKLOG-1] with an appserver its authenticate call decides, and a user it verifies is created without a password', async () => {
  const { tidemark, logIn } = await setUp();
  fake.on('authenticate', ({ body }, response) => {
    if (body.password !== PASSWORD) return answerJson(response, { detail: 'no' }, 401);
    return answerJson(response, body.login === 'eve@example' ? { user_id: 'eve' } : {});
  });
  expect(await logIn('carl', PASSWORD)).toEqual({ login: 'carl' });
  expect(await logIn('eve@example', PASSWORD)).toEqual({ login: 'eve' });
  expect(await tidemark.users.list()).toEqual(['ada', 'bob', 'carl', 'eve']);
  expect(await tidemark.users.verifyPassword('carl', PASSWORD)).toBeNull();
  // Existing users are checked by the backend as well, even if they have a stored password.
  expect(await logIn('ada', 'long enough')).toBeNull();
  expect(await logIn('ada', PASSWORD)).toEqual({ login: 'ada' });
  expect(await logIn('nobody', 'wrong')).toBeNull();
  expect(await tidemark.users.has('nobody')).toBe(false);
});

it('[BACKLOG-2] without an appserver the stored users decide', async () => {
  const { logIn } = await setUp(false);
  expect(await logIn('ada', 'long enough')).toMatchObject({ login: 'ada', stamp: expect.any(String) });
  expect(await logIn('ada', PASSWORD)).toBeNull();
  expect(fake.requests).toEqual([]);
});

it('[BACKLOG-3] a login gets 503 with Retry-After while the backend is down or answers nonsense', async () => {
  const { logIn, tidemark } = await setUp();
  for (const answer of [500, 302, 'html', 'user'] as const) {
    fake.on('authenticate', (_, response) => {
      if (answer === 'html') return response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
      return answer === 'user' ? answerJson(response, { user_id: '*' }) : response.writeHead(answer).end();
    });
    expect(await refusalOf(logIn('carl', PASSWORD))).toBe('backend_unavailable');
  }
  await fake.close();
  const refusal = await logIn('carl', PASSWORD).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(Refusal);
  expect(refusal).toMatchObject({ status: 503, retryAfterS: expect.any(Number) });
  expect(await tidemark.users.has('carl')).toBe(false);
});

it.each([404, 405, 501])(
  '[BACKLOG-8] when the backend answers %i to authenticate, the stored passwords decide',
  async (status) => {
    const { logIn, log } = await setUp(true, 3_600_000);
    fake.on('authenticate', (_, response) => answerJson(response, { code: 'source_not_handled' }, status));
    expect(await logIn('ada', 'long enough')).toMatchObject({ login: 'ada', stamp: expect.any(String) });
    expect(await logIn('ada', 'wrong')).toBeNull();
    expect(await logIn('nobody', 'long enough')).toBeNull();
    expect(log.lines).toEqual([
      {
        level: 'warn',
        event: 'logins_checked_by_own_passwords',
        fields: { reason: `the backend answers ${status} to authenticate` },
      },
    ]);
  },
);

it('[BACKLOG-8] who checks logins is logged when it changes, not at every login', async () => {
  const { logIn, log, tidemark } = await setUp();
  let seen = 0;
  const events = () => {
    const fresh = log.lines.slice(seen);
    seen = log.lines.length;
    return fresh.map(({ event }) => event);
  };
  const handles = (isHandled: boolean) =>
    fake.on('authenticate', (_, response) => answerJson(response, {}, isHandled ? 200 : 501));
  const logInTwice = async () => {
    for (let count = 0; count < 2; count++) await logIn('ada', 'long enough');
  };
  handles(true);
  await logInTwice();
  expect(events()).toEqual([]);
  handles(false);
  await logInTwice();
  expect(events()).toEqual(['logins_checked_by_own_passwords']);
  handles(true);
  await logInTwice();
  expect(events()).toEqual(['logins_checked_by_backend']);
  handles(false);
  await tidemark.system.setAppserver({ adapter_url: `${fake.url}/other` });
  await logInTwice();
  expect(events()).toEqual(['logins_checked_by_own_passwords']);
});

it('[BACKLOG-4] passwords are neither stored nor logged', async () => {
  const { logIn, log, store } = await setUp();
  fake.on('authenticate', (_, response) => answerJson(response, {}));
  await logIn('carl', PASSWORD);
  fake.on('authenticate', (_, response) => answerJson(response, { detail: PASSWORD }, 500));
  await refusalOf(logIn('carl', PASSWORD));
  const entries = await Promise.all(
    (['user', 'setting', 'audit', 'token'] as const).map((kind) =>
      store.listEntries({ kind, prefix: [], limit: 1_000 }),
    ),
  );
  expect(JSON.stringify([log.lines, entries])).not.toContain(PASSWORD);
});

describe('offline logins', () => {
  const HOUR_MS = 3_600_000;

  /** A backend that knows carl, while it is running. */
  async function setUpRemembering() {
    const fixture = await setUp(true, HOUR_MS);
    let answer: 'yes' | 'no' | 'down' = 'yes';
    fake.on('authenticate', ({ body }, response) => {
      if (answer === 'down') return response.writeHead(500).end();
      const isRight = answer === 'yes' && body.password === PASSWORD;
      return isRight ? answerJson(response, { user_id: 'carl' }) : answerJson(response, {}, 401);
    });
    const backend = (next: typeof answer) => {
      answer = next;
    };
    await fixture.logIn('carl@example', PASSWORD);
    return { ...fixture, backend };
  }

  it('[BACKLOG-5] offline logins are off by default, and then nothing is stored', async () => {
    const { logIn, remembered } = await setUp();
    fake.on('authenticate', (_, response) => answerJson(response, {}));
    await logIn('carl', PASSWORD);
    fake.on('authenticate', (_, response) => response.writeHead(500).end());
    expect(await refusalOf(logIn('carl', PASSWORD))).toBe('backend_unavailable');
    expect(await remembered()).toEqual([]);
  });

  it('[BACKLOG-5] an offline login works while the backend cannot answer, with the same password and within the time', async () => {
    const { logIn, backend, clock, remembered, tidemark } = await setUpRemembering();
    backend('down');
    expect(await logIn('carl@example', PASSWORD)).toEqual({ login: 'carl' });
    for (const [login, password] of [
      ['carl@example', 'wrong'],
      ['carl@example', ''],
      ['carl', PASSWORD],
      ['nobody', PASSWORD],
    ] as const) {
      expect(await refusalOf(logIn(login, password))).toBe('backend_unavailable');
    }
    clock.advance(HOUR_MS - 1);
    expect(await logIn('carl@example', PASSWORD)).toEqual({ login: 'carl' });
    clock.advance(1);
    expect(await refusalOf(logIn('carl@example', PASSWORD))).toBe('backend_unavailable');
    await tidemark.logins.trim();
    expect(await remembered()).toEqual([]);
  });

  it('[BACKLOG-5] an offline login stores a hash of the password, never the password', async () => {
    const { log, store } = await setUpRemembering();
    const entries = await store.listEntries({ kind: 'setting', prefix: ['login'], limit: 10 });
    expect(entries.length).toBe(1);
    expect(JSON.stringify([log.lines, entries])).not.toContain(PASSWORD);
  });

  it('[BACKLOG-6] an offline login is deleted when the backend refuses it, not when a user mistypes', async () => {
    const { logIn, backend, remembered } = await setUpRemembering();
    expect(await logIn('carl@example', 'mistyped')).toBeNull();
    expect((await remembered()).length).toBe(2);
    backend('no');
    expect(await logIn('carl@example', PASSWORD)).toBeNull();
    expect(await remembered()).toEqual([]);
    backend('down');
    expect(await refusalOf(logIn('carl@example', PASSWORD))).toBe('backend_unavailable');
  });

  it('[BACKLOG-6] offline logins are deleted with the user or a new password, and belong to one backend', async () => {
    const { logIn, backend, remembered, tidemark } = await setUpRemembering();
    await tidemark.users.update('carl', { attributes: { password: 'something else' } });
    expect(await remembered()).toEqual([]);
    await logIn('carl@example', PASSWORD);
    expect((await remembered()).length).toBe(2);
    await tidemark.users.delete('carl');
    expect(await remembered()).toEqual([]);
    await logIn('carl@example', PASSWORD);
    backend('down');
    await tidemark.system.setAppserver({ adapter_url: `${fake.url}/other` });
    expect(await refusalOf(logIn('carl@example', PASSWORD))).toBe('backend_unavailable');
  });

  it('[BACKLOG-6] a login that belongs to another user by now is stored for that user', async () => {
    const { logIn, tidemark, remembered } = await setUpRemembering();
    fake.on('authenticate', (_, response) => answerJson(response, { user_id: 'carla' }));
    await logIn('carl@example', PASSWORD);
    fake.on('authenticate', (_, response) => response.writeHead(500).end());
    expect(await logIn('carl@example', PASSWORD)).toEqual({ login: 'carla' });
    await tidemark.users.delete('carl');
    expect((await remembered()).length).toBe(2);
  });

  it('[BACKLOG-7] failed offline logins count like all others', async () => {
    const { logIn, backend, clock } = await setUpRemembering();
    backend('down');
    const limiter = new LoginLimiter(clock);
    const guess = (password: string) => limiter.attempt('::1', 'carl@example', () => logIn('carl@example', password));
    const codes: unknown[] = [];
    for (let count = 0; count < FAILED_LOGINS_PER_ADDRESS_MAX + 1; count++) codes.push(await refusalOf(guess('guess')));
    expect(new Set(codes.slice(0, -1))).toEqual(new Set(['backend_unavailable']));
    expect(codes.at(-1)).toBe('rate_limited');
    expect(await refusalOf(guess(PASSWORD))).toBe('rate_limited');
  });
});
