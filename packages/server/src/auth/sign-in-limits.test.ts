import { Refusal } from '@tidemark/protocol';
import { answerJson, Caller, openFakeBackend, settableClock } from '@tidemark/testing';
import { startTestServer, testConfig } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';
import { REFUSED_ID_TOKENS_PER_ADDRESS_MAX, SIGN_INS_PER_USER_MAX, SIGN_INS_WINDOW_MS } from '../limits.ts';
import { SignInLimits } from './sign-in-limits.ts';

const SECRET = 'shared with the backend';
const RATE_LIMITED = { code: 'rate_limited', retryAfterS: 1 };
const failWith = (code: 'id_token_signature' | 'issuer_unavailable' | 'store_unavailable') => async () => {
  throw new Refusal(code, 'refused');
};

it('[HARD-73] a user signs in so often within a window, and not once more', () => {
  const clock = settableClock();
  const limits = new SignInLimits(clock);
  for (let count = 0; count < SIGN_INS_PER_USER_MAX; count++) limits.countSignIn('ada');
  expect(() => limits.countSignIn('ada')).toThrow(expect.objectContaining(RATE_LIMITED));
  limits.countSignIn('bob');
  clock.advance(SIGN_INS_WINDOW_MS / SIGN_INS_PER_USER_MAX);
  limits.countSignIn('ada');
});

it('[HARD-73] after so many refused tokens of identity providers an address must wait, and others need not', async () => {
  const limits = new SignInLimits(settableClock());
  for (let count = 0; count < REFUSED_ID_TOKENS_PER_ADDRESS_MAX; count++) {
    const refused = limits.verifyToken('2001:db8::1', failWith('id_token_signature'));
    await expect(refused).rejects.toMatchObject({ code: 'id_token_signature' });
  }
  const good = async () => 'ada';
  await expect(limits.verifyToken('2001:db8::2', good)).rejects.toMatchObject(RATE_LIMITED);
  expect(await limits.verifyToken('10.0.0.1', good)).toBe('ada');
});

it('[HARD-73] good tokens and providers that cannot be reached count for nothing', async () => {
  const limits = new SignInLimits(settableClock());
  for (let count = 0; count <= REFUSED_ID_TOKENS_PER_ADDRESS_MAX; count++) {
    expect(await limits.verifyToken('10.0.0.1', async () => 'ada')).toBe('ada');
    const away = limits.verifyToken('10.0.0.1', failWith('issuer_unavailable'));
    await expect(away).rejects.toMatchObject({ code: 'issuer_unavailable' });
  }
});

it('[HARD-73] a store that is away says nothing about a token, and nobody waits for that when it is back', async () => {
  const limits = new SignInLimits(settableClock());
  for (let count = 0; count <= REFUSED_ID_TOKENS_PER_ADDRESS_MAX; count++) {
    const away = limits.verifyToken('10.0.0.1', failWith('store_unavailable'));
    await expect(away).rejects.toMatchObject({ code: 'store_unavailable' });
  }
  expect(await limits.verifyToken('10.0.0.1', async () => 'ada')).toBe('ada');
});

it('[HARD-73] a login on a device beyond the limit is refused and registers no device', async () => {
  const backend = await openFakeBackend(() => SECRET);
  backend.on('authenticate', ({ body }, response) => answerJson(response, {}, body.password === 'wrong' ? 401 : 200));
  const server = await startTestServer({ backend: { ...testConfig('').backend, secret: SECRET } });
  const admin = new Caller(server.url, server.token);
  const door = new Caller(server.url, null);
  onTestFinished(async () => {
    admin.close();
    door.close();
    await server.close();
    await backend.close();
  });
  await admin.post('/rc/v1/system/appserver', { adapter_url: backend.url });
  const signIn = async () => (await door.post('/sync/v1/login', { login: 'ada', password: 'right' })).code;
  // The bucket fills up again while the logins are made, so a few more than it holds may succeed.
  const codes: (string | null)[] = [];
  while (!codes.includes('rate_limited') && codes.length < 20 * SIGN_INS_PER_USER_MAX) {
    codes.push(...(await Promise.all(Array.from({ length: 20 }, signIn))));
  }
  expect(codes).toContain('rate_limited');
  const clients = (await admin.get('/rc/v1/users/ada/clients')).body as readonly string[];
  expect(clients).toHaveLength(codes.filter((code) => code !== 'rate_limited').length);
});
