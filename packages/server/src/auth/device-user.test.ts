import { Refusal } from '@tidemark/protocol';
import { answerJson, type FakeBackend, newTidemark, openFakeBackend, refusalOf, seededRandom } from '@tidemark/testing';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { openBackend } from '../backend/open-backend.ts';
import { deviceUser } from './device-user.ts';

const SECRET = 'shared with the backend';
const PASSWORD = 'open sesame 4711';
let fake: FakeBackend;

beforeEach(async () => {
  fake = await openFakeBackend(() => SECRET);
});

afterEach(() => fake.close());

async function setUp(isSet = true) {
  const { tidemark, clock, log, store } = await newTidemark();
  const config = { secret: SECRET, timeoutMs: 10_000, queryTimeoutMs: 10_000, denyPrivate: false };
  const backend = openBackend({ config, clock, random: seededRandom(2), log, tidemark: () => tidemark });
  if (isSet) await tidemark.system.setAppserver({ adapter_url: fake.url });
  const logIn = (login: string, password: string) => deviceUser({ tidemark, backend }, login, password);
  return { tidemark, log, store, logIn };
}

it('[BACKLOG-1] with an appserver, its authenticate decides; whoever it vouches for becomes a user without a password', async () => {
  const { tidemark, logIn } = await setUp();
  fake.on('authenticate', ({ body }, response) => {
    if (body.password !== PASSWORD) return answerJson(response, { detail: 'no' }, 401);
    return answerJson(response, body.login === 'eve@example' ? { user_id: 'eve' } : {});
  });
  expect(await logIn('carl', PASSWORD)).toEqual({ login: 'carl' });
  expect(await logIn('eve@example', PASSWORD)).toEqual({ login: 'eve' });
  expect(await tidemark.users.list()).toEqual(['ada', 'bob', 'carl', 'eve']);
  expect(await tidemark.users.verifyPassword('carl', PASSWORD)).toBeNull();
  // Known users are not known better here, also with the password that is kept for them.
  expect(await logIn('ada', 'long enough')).toBeNull();
  expect(await logIn('ada', PASSWORD)).toEqual({ login: 'ada' });
  expect(await logIn('nobody', 'wrong')).toBeNull();
  expect(await tidemark.users.has('nobody')).toBe(false);
});

it('[BACKLOG-2] without one, the users kept here decide', async () => {
  const { logIn } = await setUp(false);
  expect(await logIn('ada', 'long enough')).toMatchObject({ login: 'ada', stamp: expect.any(String) });
  expect(await logIn('ada', PASSWORD)).toBeNull();
  expect(fake.requests).toEqual([]);
});

it('[BACKLOG-3] a backend that is down or talks nonsense is no refusal: 503 with Retry-After', async () => {
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

it('[BACKLOG-4] passwords are neither kept nor logged', async () => {
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
