import type { DeviceSession } from '@tidemark/protocol';
import { Caller, OIDC_CLIENT, OIDC_RESOURCE, type OidcServer, openOidcServer } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { issuerOf } from '../config/issuer-settings.ts';

let oidc: OidcServer;
let server: TestServer;
let door: Caller;
let admin: Caller;

beforeAll(async () => {
  oidc = await openOidcServer();
  const issuer = issuerOf({ name: 'company', issuer: oidc.issuer, audience: [OIDC_CLIENT, OIDC_RESOURCE] });
  server = await startTestServer({ issuers: [issuer] });
  door = new Caller(server.url, null);
  admin = new Caller(server.url, server.token);
});

afterAll(async () => {
  door.close();
  admin.close();
  await server.close();
  await oidc.close();
});

it('[OIDC-1] a device exchanges an ID token of a real provider for a device token, and its user is created', async () => {
  const { idToken } = await oidc.signIn('anna');
  const reply = await door.post('/sync/v1/login', { id_token: idToken });
  expect(reply.body).toMatchObject({ user_id: 'anna', token: expect.stringMatching(/^tmk_/) });
  const { token, client_id } = reply.body as DeviceSession;
  const device = new Caller(server.url, token);
  expect((await device.post('/sync/v1/pull', { client_id, sources: {} })).status).toBe(200);
  device.close();
  const identity = { issuer: oidc.issuer, subject: 'anna' };
  expect((await admin.get('/rc/v1/users/anna')).body).toMatchObject({ login: 'anna', identity });
});

it('[OIDC-2] a device exchanges an access token that is a JWT of a real provider', async () => {
  const { accessToken, idToken } = await oidc.signIn('bob');
  const reply = await door.post('/sync/v1/login', { access_token: accessToken });
  expect(reply.body).toMatchObject({ user_id: 'bob' });
  expect((await door.post('/sync/v1/login', { id_token: accessToken })).code).toBe('id_token_invalid');
  expect((await door.post('/sync/v1/login', { id_token: idToken })).body).toMatchObject({ user_id: 'bob' });
});

it('[OIDC-3] the keys of the provider are fetched once for many sign-ins', async () => {
  const { idToken } = await oidc.signIn('carl');
  const before = oidc.keyRequests();
  await Promise.all(Array.from({ length: 5 }, () => door.post('/sync/v1/login', { id_token: idToken })));
  expect([before, oidc.keyRequests()]).toEqual([1, 1]);
});

it('[OIDC-4] a device that is signed in goes on and renews its token while the provider is down', async () => {
  const { idToken } = await oidc.signIn('dora');
  const { token } = (await door.post('/sync/v1/login', { id_token: idToken })).body as DeviceSession;
  await oidc.close();
  const device = new Caller(server.url, token);
  expect((await device.post('/sync/v1/token', {})).status).toBe(200);
  device.close();
  // Known keys are used on, so that even new sign-ins with a token issued before succeed.
  expect((await door.post('/sync/v1/login', { id_token: idToken })).status).toBe(200);
});
