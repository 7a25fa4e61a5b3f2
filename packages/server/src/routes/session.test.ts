import { request } from 'node:http';
import { Caller } from '@tidemark/testing';
import { ADMIN_PASSWORD, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

let server: TestServer;

beforeAll(async () => {
  server = await startTestServer({ trustProxy: true });
});

afterAll(() => server.close());

const OF_CONSOLE = { 'x-tidemark-console': '1' };
type Headers = Readonly<Record<string, string>>;

interface Answer {
  readonly status: number;
  readonly cookie: string;
  readonly body: { readonly code?: string; readonly session?: unknown };
}

function call(method: string, path: string, headers: Headers = {}, body?: object): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const outgoing = request(`${server.url}${path}`, {
      method,
      headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
    });
    outgoing.once('error', reject).once('response', async (response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of response) chunks.push(chunk as Buffer);
      const text = Buffer.concat(chunks).toString();
      const [cookie = ''] = response.headers['set-cookie'] ?? [];
      resolve({ status: response.statusCode ?? 0, cookie, body: JSON.parse(text) });
    });
    outgoing.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

const PASSWORD = { login: 'admin', password: ADMIN_PASSWORD };
const signIn = (body: object = PASSWORD, headers: Headers = {}) =>
  call('POST', '/rc/v1/session', { ...OF_CONSOLE, ...headers }, body);
const pairOf = ({ cookie }: Answer) => cookie.split(';')[0] ?? '';

async function newToken(scopes: readonly string[]) {
  const { body } = await call('POST', '/rc/v1/tokens', { 'x-sync-api-token': server.token }, { name: 'x', scopes });
  return body as { readonly token: string; readonly id: string };
}

it('[CONSOLE-1] signing in sets a cookie that scripts cannot read and other sites cannot send', async () => {
  const plain = await signIn();
  expect(plain.body).toMatchObject({ session: { user: 'admin', scopes: ['admin', 'admin:reset'] } });
  expect(plain.cookie).toMatch(/^tidemark_session=tmk_\w{49}; Path=\/; HttpOnly; SameSite=Strict; Max-Age=[0-9]+$/);
  const secure = await signIn(PASSWORD, { 'x-forwarded-proto': 'https' });
  expect(secure.cookie).toMatch(
    /^__Host-tidemark_session=tmk_\w{49}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=/,
  );
  expect((await signIn({ login: 'admin', password: 'wrong' })).body.code).toBe('invalid_credentials');
});

it('[CONSOLE-1] a public URL of https makes the cookie one that is sent over HTTPS only, whatever the headers say', async () => {
  const own = await startTestServer({ publicUrl: 'https://sync.example' });
  const caller = new Caller(own.url, null);
  try {
    const reply = await caller.post('/rc/v1/session', PASSWORD, OF_CONSOLE);
    const [setCookie = ''] = reply.headers['set-cookie'] ?? [];
    const [cookie = ''] = setCookie.split(';');
    expect(setCookie).toMatch(
      /^__Host-tidemark_session=tmk_\w{49}; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=/,
    );
    expect((await caller.get('/rc/v1/users', { ...OF_CONSOLE, cookie })).status).toBe(200);
    // Another host of the domain, or a page over plain HTTP, could have planted a cookie without the prefix.
    const planted = cookie.replace('__Host-', '');
    expect((await caller.get('/rc/v1/users', { ...OF_CONSOLE, cookie: planted })).code).toBe('token_missing');
  } finally {
    caller.close();
    await own.close();
  }
});

it('[CONSOLE-1] a token without the scope read or admin begins no session', async () => {
  const push = await signIn({ token: (await newToken(['push'])).token });
  expect([push.status, push.body.code, push.cookie]).toEqual([403, 'forbidden', '']);
  expect((await signIn({ token: (await newToken(['read'])).token })).status).toBe(200);
});

it('[CONSOLE-2] the cookie counts only with the header of the console', async () => {
  const cookie = pairOf(await signIn());
  expect((await call('GET', '/rc/v1/users', { cookie, ...OF_CONSOLE })).status).toBe(200);
  expect((await call('GET', '/rc/v1/users', { cookie })).body.code).toBe('token_missing');
  expect((await call('POST', '/rc/v1/sources', { cookie }, { name: 'Forged' })).body.code).toBe('token_missing');
});

it('[CONSOLE-2] the cookie does not count in calls from another origin, and nobody can sign in from there', async () => {
  const cookie = pairOf(await signIn());
  const users = async (headers: Headers) =>
    (await call('GET', '/rc/v1/users', { cookie, ...OF_CONSOLE, ...headers })).status;
  expect(await users({ origin: server.url })).toBe(200);
  expect(await users({ origin: 'https://sync.example', 'sec-fetch-site': 'same-origin' })).toBe(200);
  for (const headers of [
    { origin: 'http://evil.example' },
    { origin: 'null' },
    { origin: server.url.replace(/[0-9]+$/, '1') },
    { 'sec-fetch-site': 'same-site' },
    { 'sec-fetch-site': 'cross-site', origin: server.url },
  ]) {
    expect(await users(headers as unknown as Headers)).toBe(403);
  }
  expect((await signIn(PASSWORD, { origin: 'http://evil.example' })).body.code).toBe('forbidden');
});

it('[CONSOLE-2] a token in a header takes precedence over the cookie', async () => {
  const cookie = pairOf(await signIn());
  const { token } = await newToken(['push']);
  const headers = { cookie, ...OF_CONSOLE, 'x-sync-api-token': token };
  expect((await call('GET', '/rc/v1/users', headers)).body.code).toBe('forbidden');
});

it('[CONSOLE-3] a session with a read token can read and change nothing', async () => {
  const cookie = pairOf(await signIn({ token: (await newToken(['read'])).token }));
  const headers = { cookie, ...OF_CONSOLE };
  expect((await call('GET', '/rc/v1/sources', headers)).status).toBe(200);
  expect((await call('POST', '/rc/v1/sources', headers, { name: 'Forbidden' })).body.code).toBe('forbidden');
});

it('[CONSOLE-3] a session ends when its token is revoked', async () => {
  const { token, id } = await newToken(['admin']);
  const headers = { cookie: pairOf(await signIn({ token })), ...OF_CONSOLE };
  expect((await call('GET', '/rc/v1/session', headers)).body).toMatchObject({ session: { token_id: id } });
  await call('DELETE', `/rc/v1/tokens/${id}`, { 'x-sync-api-token': server.token });
  expect((await call('GET', '/rc/v1/session', headers)).body).toEqual({ session: null });
  expect((await call('GET', '/rc/v1/users', headers)).body.code).toBe('token_invalid');
});

it('[CONSOLE-3] signing out revokes the token of a password, and leaves one with a name', async () => {
  const { token } = await newToken(['admin']);
  for (const [body, code] of [
    [PASSWORD, 'token_invalid'],
    [{ token }, undefined],
  ] as const) {
    const headers = { cookie: pairOf(await signIn(body)), ...OF_CONSOLE };
    const out = await call('DELETE', '/rc/v1/session', headers);
    expect([out.body, out.cookie]).toEqual([
      { session: null },
      'tidemark_session=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0',
    ]);
    expect((await call('GET', '/rc/v1/users', headers)).body.code).toBe(code);
  }
});

it('[CONSOLE-3] signing in and out is in the audit trail with the name of the administrator', async () => {
  const { token } = await newToken(['admin']);
  const headers = { cookie: pairOf(await signIn({ token })), ...OF_CONSOLE };
  await call('DELETE', '/rc/v1/session', headers);
  const { body } = await call('GET', '/rc/v1/audit?limit=2', { 'x-sync-api-token': server.token });
  const facts = body as unknown as readonly { readonly actor: string; readonly action: string }[];
  expect(facts.map(({ actor, action }) => [actor, action])).toEqual([
    ['admin', 'logout'],
    ['admin', 'login'],
  ]);
});
