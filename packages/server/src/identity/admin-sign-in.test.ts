import type { CurrentSession, DeviceSession } from '@tidemark/protocol';
import { Caller, OIDC_ADMIN, OIDC_CLIENT, type OidcServer, openOidcServer, type Reply } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { issuerOf } from '../config/issuer-settings.ts';
import { SIGN_IN_MS_MAX } from '../limits.ts';

const PUBLIC_URL = 'https://sync.example';
const OF_CONSOLE = { 'x-tidemark-console': '1' };
const SESSION_S = 3_600;

let oidc: OidcServer;
let server: TestServer;
let door: Caller;
let admin: Caller;

beforeAll(async () => {
  const roles = { olga: ['ops', 'staff'], rita: ['support'], sven: ['staff'], tom: ['ops'] };
  oidc = await openOidcServer({ redirectUrl: `${PUBLIC_URL}/console/`, roles });
  server = await startTestServer({
    publicUrl: PUBLIC_URL,
    trustProxy: true,
    issuers: [issuerOf({ name: 'company', issuer: oidc.issuer, audience: OIDC_CLIENT, create_users: false })],
    adminSignIn: {
      ...{ issuer: 'company', ...OIDC_ADMIN, roleClaim: 'roles', sessionS: SESSION_S },
      roles: new Map([
        ['ops', ['admin', 'read']],
        ['support', ['read']],
      ]),
    },
  });
  door = new Caller(server.url, null);
  admin = new Caller(server.url, server.token);
});

afterAll(async () => {
  door.close();
  admin.close();
  await server.close();
  await oidc.close();
});

/** Begins a sign-in. Returns where the browser goes, and its cookie. */
async function begin() {
  const reply = await door.post('/rc/v1/session/provider', {}, OF_CONSOLE);
  const [setCookie = ''] = reply.headers['set-cookie'] ?? [];
  return { ...(reply.body as { readonly url: string }), setCookie, cookie: setCookie.split(';')[0] ?? '' };
}

const finish = (proof: object, cookie: string): Promise<Reply> =>
  door.post('/rc/v1/session', proof, { ...OF_CONSOLE, cookie });

async function signIn(person: string): Promise<Reply> {
  const { url, cookie } = await begin();
  return finish(await oidc.authorize(url, person), cookie);
}

/** Returns the headers of calls in the session. */
function sessionOf({ headers }: Reply) {
  return { ...OF_CONSOLE, cookie: headers['set-cookie']?.[0]?.split(';')[0] ?? '' };
}

it('[OIDC-25] an administrator signs in to the console with a code of a real provider and gets the scopes of the roles', async () => {
  expect((await door.get('/rc/v1/session/provider')).body).toEqual({ name: 'company' });
  const reply = await signIn('olga');
  const { session } = reply.body as CurrentSession;
  expect(session).toMatchObject({ user: 'olga', scopes: ['admin', 'read'] });
  expect(reply.headers['set-cookie']).toEqual([
    expect.stringMatching(
      /^__Host-tidemark_session=tmk_\w+; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=3600$/,
    ),
    '__Host-tidemark_sign_in=; Path=/; HttpOnly; SameSite=Strict; Secure; Max-Age=0',
  ]);
  const [fact] = (await admin.get('/rc/v1/audit?limit=1')).body as readonly object[];
  expect((await door.get('/rc/v1/tokens', sessionOf(reply))).status).toBe(200);
  expect((await door.post('/rc/v1/system/reset', {}, sessionOf(reply))).code).toBe('forbidden');
  expect(fact).toMatchObject({ actor: 'olga', action: 'login', result: 'ok' });
});

it('[OIDC-25] a role with the scope read gives a console without actions', async () => {
  const session = sessionOf(await signIn('rita'));
  expect((await door.get('/rc/v1/users', session)).status).toBe(200);
  expect((await door.post('/rc/v1/sources', { name: 'Forbidden' }, session)).code).toBe('forbidden');
});

it('[SESSION-20] a session with only the scope admin ends no sessions of the device of an administrator, and neither wipes nor deletes it', async () => {
  const { body: invite } = await admin.post('/rc/v1/users/admin/invite', {});
  const signedIn = await door.post('/sync/v1/login', { invite: (invite as { readonly code: string }).code });
  const { client_id, token } = signedIn.body as DeviceSession;
  const device = new Caller(server.url, token);
  onTestFinished(() => device.close());
  const sessions = `/rc/v1/clients/${client_id}/sessions`;
  const session = sessionOf(await signIn('olga'));
  const end = { method: 'DELETE', path: sessions, headers: session, body: null };
  expect((await door.send(end)).code).toBe('forbidden');
  expect((await door.post(`/rc/v1/clients/${client_id}/wipe`, {}, session)).code).toBe('forbidden');
  const removal = { ...end, path: `/rc/v1/users/admin/clients/${client_id}` };
  expect((await door.send(removal)).code).toBe('forbidden');
  expect((await device.get('/sync/v1/sources')).status).toBe(200);
  expect((await admin.delete(sessions)).body).toEqual({ client_id, ended: 1 });
  expect((await device.get('/sync/v1/sources')).code).toBe('token_revoked');
});

it('[OIDC-26] the request asks for a code with PKCE, and the cookie of the sign-in is out of reach of scripts and other sites', async () => {
  const { url, setCookie } = await begin();
  expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({
    ...{ response_type: 'code', client_id: OIDC_ADMIN.clientId, redirect_uri: `${PUBLIC_URL}/console/` },
    ...{ code_challenge: expect.stringMatching(/^[\w-]{43}$/), code_challenge_method: 'S256' },
    ...{ state: expect.stringMatching(/^[\w-]{43}$/), nonce: expect.stringMatching(/^[\w-]{43}$/) },
  });
  expect(setCookie).toMatch(/^__Host-tidemark_sign_in=\S+; Path=\/; HttpOnly; SameSite=Strict; Secure; Max-Age=600$/);
  expect((await door.post('/rc/v1/session/provider', {})).code).toBe('forbidden');
});

it('[OIDC-27] a code with another state, or in a browser that has not begun the sign-in, is refused', async () => {
  const [one, other] = [await begin(), await begin()];
  const proof = await oidc.authorize(one.url, 'olga');
  expect(await finish(proof, other.cookie)).toMatchObject({ status: 403, code: 'sign_in_state_invalid' });
  expect(await finish(proof, 'tidemark_sign_in=')).toMatchObject({ code: 'sign_in_state_invalid' });
  // Neither attempt has used the code up.
  expect((await finish(proof, one.cookie)).status).toBe(200);
});

it('[OIDC-27] a code counts once', async () => {
  const { url, cookie } = await begin();
  const proof = await oidc.authorize(url, 'olga');
  expect((await finish(proof, cookie)).status).toBe(200);
  expect(await finish(proof, cookie)).toMatchObject({ status: 401, code: 'sign_in_code_refused' });
});

it('[OIDC-27] a token with the nonce of another sign-in is refused', async () => {
  const { url, cookie } = await begin();
  const changed = cookie.replace(/\.[^.]+\./, '.another-nonce.');
  const proof = await oidc.authorize(url, 'olga');
  expect(await finish(proof, changed)).toMatchObject({ status: 401, code: 'id_token_nonce' });
});

it('[OIDC-27] a sign-in that takes too long is refused', async () => {
  const { url, cookie } = await begin();
  const startedAtMs = Number(/[0-9]+$/.exec(cookie)?.[0]);
  const late = cookie.replace(/[0-9]+$/, String(startedAtMs - SIGN_IN_MS_MAX));
  const proof = await oidc.authorize(url, 'olga');
  for (const changed of [late, cookie.replace(/[0-9]+$/, ''), cookie.replace(/[0-9]+$/, '99999999999999')]) {
    expect(await finish(proof, changed)).toMatchObject({ status: 401, code: 'sign_in_expired' });
  }
});

it('[OIDC-28] whoever has none of the roles is refused and does not become a user', async () => {
  expect(await signIn('sven')).toMatchObject({ status: 403, code: 'role_missing' });
  expect(await signIn('walt')).toMatchObject({ status: 403, code: 'role_missing' });
  expect((await admin.get('/rc/v1/users/sven')).code).toBe('user_not_found');
});

it('[OIDC-29] a program exchanges an ID token for the client of the console for a token of the API', async () => {
  const { url, cookie } = await begin();
  const { code } = await oidc.authorize(url, 'tom');
  const verifier = cookie.split('.')[2] ?? '';
  const idToken = await oidc.exchange({ code, verifier, redirectUrl: `${PUBLIC_URL}/console/` });
  const reply = await door.post('/rc/v1/system/login', { id_token: idToken }, { accept: 'application/json' });
  const { token, user } = reply.body as { readonly token: string; readonly user: string };
  expect(user).toBe('tom');
  expect((await door.get('/rc/v1/users', { 'x-sync-api-token': token })).status).toBe(200);
});

it('[OIDC-29] an ID token for the app of the devices signs no administrator in', async () => {
  const { idToken } = await oidc.signIn('olga');
  const reply = await door.post('/rc/v1/system/login', { id_token: idToken });
  expect(reply.code).toBe('id_token_audience');
});

it('[OIDC-30] the rights end with the session: the user is no administrator of the server', async () => {
  const session = sessionOf(await signIn('olga'));
  await admin.put('/rc/v1/users/olga', { attributes: { password: 'sea-urchin-4410' } });
  expect((await door.get('/rc/v1/users', session)).code).toBe('token_invalid');
  const login = { login: 'olga', password: 'sea-urchin-4410' };
  expect((await door.post('/rc/v1/system/login', login)).code).toBe('forbidden');
  const own = { name: 'x', scopes: ['admin'], user: 'olga' };
  expect((await admin.post('/rc/v1/tokens', own)).code).toBe('forbidden');
});

it('[OIDC-30] a session by a role issues no token that outlives it, and downloads no backup', async () => {
  const reply = await signIn('olga');
  const session = sessionOf(reply);
  const { expires_at } = (reply.body as { readonly session: { readonly expires_at: string } }).session;
  const issue = (expiry: object) => door.post('/rc/v1/tokens', { name: 'ci', scopes: ['push'], ...expiry }, session);
  const later = new Date(Date.parse(expires_at) + 1).toISOString();
  for (const refused of [await issue({}), await issue({ expires_at: later })]) {
    expect(refused).toMatchObject({ status: 403, code: 'forbidden' });
  }
  expect((await issue({ expires_at })).body).toMatchObject({ user: 'olga', scopes: ['push'], expires_at });
  const { name } = (await door.post('/rc/v1/system/backups', {}, session)).body as { readonly name: string };
  expect((await door.get(`/rc/v1/system/backups/${name}`, session)).code).toBe('forbidden');
  expect((await admin.get(`/rc/v1/system/backups/${name}`)).status).toBe(200);
});

it('[OIDC-31] a server without the setting names no provider and begins no sign-in', async () => {
  const plain = await startTestServer();
  const caller = new Caller(plain.url, null);
  expect((await caller.get('/rc/v1/session/provider')).body).toEqual({ name: null });
  for (const reply of [
    await caller.post('/rc/v1/session/provider', {}, OF_CONSOLE),
    await caller.post('/rc/v1/session', { code: 'x', state: 'y' }, OF_CONSOLE),
    await caller.post('/rc/v1/system/login', { id_token: 'x.y.z' }),
  ]) {
    expect(reply).toMatchObject({ status: 404, code: 'sign_in_not_configured' });
  }
  caller.close();
  await plain.close();
});

it('[OIDC-27] guesses of codes are limited by address', async () => {
  const codes: (string | null)[] = [];
  for (let count = 0; count < 6; count++) {
    codes.push((await finish({ code: 'guess', state: `s${count}` }, 'tidemark_sign_in=a.b.c.1')).code);
  }
  expect(codes.at(-1)).toBe('rate_limited');
});

it('[OIDC-31] while the provider is down, a sign-in is refused and administrators use passwords', async () => {
  await oidc.close();
  const { url } = await begin();
  expect(url).toMatch(/^http/);
  const down = await startTestServer({ issuers: server.config.issuers, adminSignIn: server.config.adminSignIn });
  const caller = new Caller(down.url, null);
  expect(await caller.post('/rc/v1/session/provider', {}, OF_CONSOLE)).toMatchObject({
    ...{ status: 503, code: 'issuer_unavailable' },
    headers: { 'retry-after': '10' },
  });
  caller.close();
  await down.close();
});
