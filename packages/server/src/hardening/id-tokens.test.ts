import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { DeviceSession } from '@tidemark/protocol';
import { answerJson, Caller, openFakeBackend } from '@tidemark/testing';
import { startTestServer, type TestServer, testConfig } from '@tidemark/testing/server';
import { base64url, exportJWK, exportSPKI, generateKeyPair, type JWK, SignJWT } from 'jose';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { issuerOf } from '../config/issuer-settings.ts';
import { ID_TOKEN_UNITS_MAX } from '../limits.ts';

type Pair = Awaited<ReturnType<typeof generateKeyPair>>;
type Algorithm = 'RS256' | 'ES256' | 'EdDSA' | 'PS256' | 'ES384';

const AUDIENCE = 'tidemark-app';
const BACKEND_SECRET = 'shared with the backend';
const OTHER_ISSUER = 'https://other.example';
const FIXED_ISSUER = 'https://fixed.example';

const pairs = new Map<Algorithm, Pair>();
let keyServer: Server;
let issuer: string;
/** The keys that the issuer shows now. */
let shown: readonly JWK[] = [];
let keyRequests = 0;
let server: TestServer;
let door: Caller;
let admin: Caller;

const pairOf = (algorithm: Algorithm): Pair => {
  const pair = pairs.get(algorithm);
  if (pair === undefined) throw new Error(`there is no key for ${algorithm}`);
  return pair;
};
const publicKey = async (algorithm: Algorithm): Promise<JWK> => ({
  ...(await exportJWK(pairOf(algorithm).publicKey)),
  kid: algorithm,
});

beforeAll(async () => {
  for (const algorithm of ['RS256', 'ES256', 'EdDSA', 'PS256', 'ES384'] as const) {
    pairs.set(algorithm, await generateKeyPair(algorithm, { extractable: true }));
  }
  shown = await Promise.all((['RS256', 'ES256', 'EdDSA', 'PS256', 'ES384'] as const).map(publicKey));
  keyServer = createServer((request, response) => {
    if (request.url === '/keys') keyRequests++;
    response.end(JSON.stringify({ keys: shown }));
  });
  await new Promise<void>((resolve) => keyServer.listen(0, '127.0.0.1', resolve));
  issuer = `http://127.0.0.1:${(keyServer.address() as AddressInfo).port}`;
  const keys = [await publicKey('RS256')];
  const { backend } = testConfig('');
  server = await startTestServer({
    backend: { ...backend, secret: BACKEND_SECRET },
    issuers: [
      issuerOf({ name: 'main', issuer, audience: AUDIENCE, jwks_url: `${issuer}/keys` }),
      issuerOf({ name: 'other', issuer: OTHER_ISSUER, audience: AUDIENCE, keys, create_users: false }),
      issuerOf({
        ...{ name: 'fixed', issuer: FIXED_ISSUER, audience: AUDIENCE, keys, user_claim: 'email', adopt_users: true },
        required_claims: { department: ['sales', 'service'] },
      }),
    ],
  });
  door = new Caller(server.url, null);
  admin = new Caller(server.url, server.token);
});

afterAll(async () => {
  door.close();
  admin.close();
  await server.close();
  keyServer.closeAllConnections();
  await new Promise((resolve) => keyServer.close(resolve));
});

const nowS = () => Math.floor(Date.now() / 1_000);

interface Made {
  readonly algorithm?: Algorithm;
  readonly claims?: Readonly<Record<string, unknown>>;
  readonly header?: Readonly<Record<string, unknown>>;
}

function make({ algorithm = 'RS256', claims = {}, header = {} }: Made = {}): Promise<string> {
  const usual = { iss: issuer, sub: 'anna', aud: AUDIENCE, iat: nowS(), exp: nowS() + 300 };
  return new SignJWT({ ...usual, ...claims })
    .setProtectedHeader({ alg: algorithm, kid: algorithm, ...header })
    .sign(pairOf(algorithm).privateKey);
}

const logIn = (id_token: string) => door.post('/sync/v1/login', { id_token });
const codeOf = async (made: Made) => (await logIn(await make(made))).code;
const encoded = (value: unknown) => base64url.encode(JSON.stringify(value));

describe('a token of an identity provider', () => {
  it.each(['RS256', 'ES256', 'EdDSA'] as const)(
    '[OIDC-5] a token signed with %s signs its user in',
    async (algorithm) => {
      expect((await logIn(await make({ algorithm }))).body).toMatchObject({ user_id: 'anna' });
    },
  );

  it.each(['PS256', 'ES384'] as const)('[OIDC-5] a token signed with %s is refused', async (algorithm) => {
    expect(await codeOf({ algorithm })).toBe('id_token_algorithm');
  });

  it('[OIDC-6] a token with the algorithm none is refused, in every spelling', async () => {
    const [, claims = ''] = (await make()).split('.');
    for (const alg of ['none', 'None', 'NONE', '']) {
      const code = (await logIn(`${encoded({ alg })}.${claims}.`)).code;
      expect(['id_token_algorithm', 'id_token_invalid']).toContain(code);
    }
    expect((await logIn(`${encoded({ alg: 'none' })}.${claims}.`)).code).toBe('id_token_algorithm');
  });

  it('[OIDC-6] a token signed by HMAC with the public key as secret is refused', async () => {
    const pem = await exportSPKI(pairOf('RS256').publicKey);
    const jwk = JSON.stringify(await publicKey('RS256'));
    for (const secret of [pem, pem.trim(), jwk]) {
      const token = new SignJWT({ iss: issuer, sub: 'anna', aud: AUDIENCE, exp: nowS() + 300 });
      const signed = await token
        .setProtectedHeader({ alg: 'HS256', kid: 'RS256' })
        .sign(new TextEncoder().encode(secret));
      expect((await logIn(signed)).code).toBe('id_token_algorithm');
    }
  });

  it('[OIDC-6] a key of one type cannot be used with the algorithm of another', async () => {
    expect(await codeOf({ algorithm: 'ES256', header: { kid: 'RS256' } })).toBe('id_token_key_unknown');
  });

  it('[OIDC-6] keys in the header of a token are ignored', async () => {
    const stranger = await generateKeyPair('RS256', { extractable: true });
    const jwk = await exportJWK(stranger.publicKey);
    const token = new SignJWT({ iss: issuer, sub: 'anna', aud: AUDIENCE, exp: nowS() + 300 });
    const headers = { jwk, jku: 'https://evil.example/keys', x5u: 'https://evil.example/cert' };
    const signed = await token.setProtectedHeader({ alg: 'RS256', kid: 'RS256', ...headers }).sign(stranger.privateKey);
    expect((await logIn(signed)).code).toBe('id_token_signature');
  });

  it('[OIDC-6] a token whose claims or signature were changed is refused', async () => {
    const [header = '', claims = '', signature = ''] = (await make()).split('.');
    const changed = encoded({ ...JSON.parse(Buffer.from(claims, 'base64url').toString()), sub: 'bob' });
    expect((await logIn(`${header}.${changed}.${signature}`)).code).toBe('id_token_signature');
    expect((await logIn(`${header}.${claims}.${signature.slice(0, -4)}AAAA`)).code).toBe('id_token_signature');
    expect((await logIn(`${header}.${claims}.`)).code).toBe('id_token_signature');
  });

  it('[OIDC-7] a token of an unknown issuer, or of one issuer signed with the key of another, is refused', async () => {
    expect(await codeOf({ claims: { iss: 'https://evil.example' } })).toBe('id_token_issuer');
    expect(await codeOf({ claims: { iss: `${issuer}/` } })).toBe('id_token_issuer');
    expect(await codeOf({ algorithm: 'ES256', claims: { iss: OTHER_ISSUER } })).toBe('id_token_key_unknown');
  });

  it('[OIDC-7] a token for another audience is refused', async () => {
    const refused = 'id_token_audience';
    expect(await codeOf({ claims: { aud: 'other-app' } })).toBe(refused);
    expect(await codeOf({ claims: { aud: [] } })).toBe(refused);
    expect(await codeOf({ claims: { aud: undefined } })).toBe(refused);
    expect(await codeOf({ claims: { aud: ['other-app', AUDIENCE] } })).toBe(refused);
    expect(await codeOf({ claims: { aud: ['other-app', AUDIENCE], azp: 'other-app' } })).toBe(refused);
    expect(await codeOf({ claims: { aud: ['other-app', AUDIENCE], azp: AUDIENCE } })).toBeNull();
  });

  it('[OIDC-8] a token outside its time is refused, with a tolerance for wrong clocks', async () => {
    expect(await codeOf({ claims: { exp: nowS() - 600 } })).toBe('id_token_expired');
    expect(await codeOf({ claims: { exp: nowS() - 5 } })).toBeNull();
    expect(await codeOf({ claims: { nbf: nowS() + 600 } })).toBe('id_token_not_yet_valid');
    expect(await codeOf({ claims: { iat: nowS() + 600 } })).toBe('id_token_not_yet_valid');
    expect(await codeOf({ claims: { exp: undefined } })).toBe('id_token_invalid');
    const [header = '', , signature = ''] = (await make()).split('.');
    const claims = encoded({ iss: issuer, sub: 'anna', aud: AUDIENCE, exp: 'tomorrow' });
    expect((await logIn(`${header}.${claims}.${signature}`)).status).toBe(401);
  });

  it('[OIDC-9] a token that is too large is refused before it is parsed', async () => {
    const token = await make({ claims: { padding: 'x'.repeat(ID_TOKEN_UNITS_MAX) } });
    expect(await logIn(token.slice(0, 1 + ID_TOKEN_UNITS_MAX))).toMatchObject({
      status: 413,
      code: 'id_token_too_large',
    });
    expect((await logIn(token.slice(0, ID_TOKEN_UNITS_MAX))).code).toBe('id_token_invalid');
    expect(await logIn('x'.repeat(20_000))).toMatchObject({ status: 413, code: 'body_too_large' });
  });

  it.each(['', 'x', '..', 'a.b.c', 'a.b.c.d.e', `${'.'.repeat(100)}`, 'null', '\u0000', '😀.😀.😀'])(
    '[OIDC-10] the text %j is not a token and is refused',
    async (text) => {
      expect(await logIn(text)).toMatchObject({ status: 401, code: 'id_token_invalid' });
    },
  );

  it('[OIDC-10] a token without a usable subject is refused', async () => {
    for (const sub of [undefined, '', 'x'.repeat(256)]) {
      expect(await codeOf({ claims: { sub } })).toBe('id_token_invalid');
    }
    expect(await codeOf({ claims: { sub: '*' } })).toBe('id_token_claims');
  });

  it('[OIDC-10] tokens that do not stand for a user, such as logout tokens, are refused', async () => {
    expect(await codeOf({ header: { typ: 'logout+jwt' } })).toBe('id_token_invalid');
    expect(await codeOf({ claims: { events: {} } })).toBe('id_token_invalid');
  });

  it.each([
    [{ id_token: 7 }],
    [{ id_token: null }],
    [{ login: 'anna', id_token: 'x' }],
    [{ id_token: 'x', access_token: 'x' }],
    [{ login: 'anna' }],
    [{ password: 'x' }],
    [{}],
  ])('[OIDC-11] the login %j is refused as invalid', async (body) => {
    expect(await door.post('/sync/v1/login', body)).toMatchObject({ status: 400, code: 'invalid_request' });
  });

  it('[OIDC-12] the token is neither logged in the audit trail nor repeated in a refusal', async () => {
    const token = await make({ claims: { aud: 'other-app' } });
    const reply = await logIn(token);
    const audit = await admin.get('/rc/v1/audit?limit=1000');
    for (const part of token.split('.')) expect(`${reply.text}${audit.text}`).not.toContain(part);
    await logIn(await make({ claims: { sub: 'audited' } }));
    expect((await admin.get('/rc/v1/audit?limit=1000')).text).toContain('"audited"');
  });
});

it('[OIDC-23] /readyz shows who checks sign-ins, in order', async () => {
  expect((await admin.get('/readyz')).body).toMatchObject({
    sign_in: ['issuer main', 'issuer other', 'issuer fixed', 'own_passwords'],
  });
});

describe('an unknown key', () => {
  it('[OIDC-13] twenty tokens with unknown keys cause at most one fetch of the keys', async () => {
    await logIn(await make());
    const before = keyRequests;
    for (let count = 0; count < 20; count++) {
      expect(await codeOf({ header: { kid: `unknown ${count}` } })).toBe('id_token_key_unknown');
    }
    expect(keyRequests - before).toBeLessThanOrEqual(1);
  });
});

describe('identities', () => {
  it('[OIDC-14] a user of one issuer is not taken over by the same subject or login of another issuer', async () => {
    expect((await logIn(await make({ claims: { sub: 'eve' } }))).body).toMatchObject({ user_id: 'eve' });
    expect(await codeOf({ claims: { iss: OTHER_ISSUER, sub: 'eve' } })).toBe('identity_conflict');
    const email = { iss: FIXED_ISSUER, sub: '1', department: 'sales', email: 'eve', email_verified: true };
    expect(await codeOf({ claims: email })).toBe('identity_conflict');
  });

  it('[OIDC-14] a user with a password is not taken over by an identity of the same login', async () => {
    await admin.post('/rc/v1/users', { attributes: { login: 'local', password: 'sea-urchin-4410' } });
    expect(await codeOf({ claims: { sub: 'local' } })).toBe('identity_conflict');
    expect((await door.post('/sync/v1/login', { login: 'local', password: 'sea-urchin-4410' })).status).toBe(200);
  });

  it('[OIDC-24] an unknown identity of an issuer that may not create users is refused, and no user is made', async () => {
    expect(await codeOf({ claims: { iss: OTHER_ISSUER, sub: 'nobody' } })).toBe('identity_unknown');
    expect((await admin.get('/rc/v1/users/nobody')).code).toBe('user_not_found');
  });

  it('[OIDC-15] no password signs in as a user of an identity provider', async () => {
    await logIn(await make({ claims: { sub: 'without' } }));
    for (const password of ['', 'null', 'undefined', 'without']) {
      expect((await door.post('/sync/v1/login', { login: 'without', password })).code).toBe('invalid_credentials');
    }
  });

  it('[OIDC-15] a backend that confirms the login of a user of an identity provider does not sign in as that user', async () => {
    await logIn(await make({ claims: { sub: 'frida' } }));
    const backend = await openFakeBackend(() => BACKEND_SECRET);
    onTestFinished(async () => {
      await admin.post('/rc/v1/system/appserver', { adapter_url: null });
      await backend.close();
    });
    backend.on('authenticate', (_, response) => answerJson(response, {}));
    await admin.post('/rc/v1/system/appserver', { adapter_url: backend.url });
    expect((await door.post('/sync/v1/login', { login: 'frida', password: 'x' })).code).toBe('identity_conflict');
    expect((await door.post('/sync/v1/login', { login: 'gert', password: 'x' })).status).toBe(200);
    expect((await logIn(await make({ claims: { sub: 'frida' } }))).status).toBe(200);
  });

  it('[OIDC-16] a user keeps their login when the claim changes, and it is free again when the user is deleted', async () => {
    const claims = { iss: FIXED_ISSUER, department: 'sales', email_verified: true };
    const signIn = async (sub: string, email: string) => logIn(await make({ claims: { ...claims, sub, email } }));
    expect((await signIn('7', 'old@example')).body).toMatchObject({ user_id: 'old@example' });
    expect((await signIn('7', 'new@example')).body).toMatchObject({ user_id: 'old@example' });
    expect((await signIn('8', 'old@example')).code).toBe('identity_conflict');
    await admin.delete('/rc/v1/users/old@example');
    expect((await signIn('8', 'old@example')).body).toMatchObject({ user_id: 'old@example' });
    expect((await signIn('7', 'new@example')).body).toMatchObject({ user_id: 'new@example' });
  });

  it('[OIDC-17] with adopt_users an existing user without an identity gets one, but never an administrator', async () => {
    await admin.post('/rc/v1/users', { attributes: { login: 'adopted', password: 'sea-urchin-4410' } });
    const claims = { iss: FIXED_ISSUER, sub: '9', department: 'sales', email: 'adopted', email_verified: true };
    const session = (await logIn(await make({ claims }))).body as DeviceSession;
    expect(session.user_id).toBe('adopted');
    expect(await codeOf({ claims: { ...claims, sub: '10' } })).toBe('identity_conflict');
    expect(await codeOf({ claims: { ...claims, sub: '11', email: 'admin' } })).toBe('identity_conflict');
  });

  it('[OIDC-18] a token without the required claims is refused', async () => {
    const claims = { iss: FIXED_ISSUER, sub: '12', department: 'sales', email: 'ida', email_verified: true };
    const refused = 'id_token_claims';
    expect(await codeOf({ claims: { ...claims, department: 'legal' } })).toBe(refused);
    expect(await codeOf({ claims: { ...claims, department: undefined } })).toBe(refused);
    expect(await codeOf({ claims: { ...claims, email_verified: false } })).toBe(refused);
    expect(await codeOf({ claims: { ...claims, email_verified: 'true' } })).toBe(refused);
    expect(await codeOf({ claims: { ...claims, email: undefined } })).toBe(refused);
    expect(await codeOf({ claims: { ...claims, department: ['legal', 'service'] } })).toBeNull();
  });
});
