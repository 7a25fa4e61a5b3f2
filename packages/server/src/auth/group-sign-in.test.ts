import { answerJson, Caller, openFakeBackend } from '@tidemark/testing';
import { startTestServer, testConfig } from '@tidemark/testing/server';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { expect, it, onTestFinished } from 'vitest';
import { issuerOf } from '../config/issuer-settings.ts';

const ISSUER = 'https://company.example';
const AUDIENCE = 'tidemark-app';
const SECRET = 'shared with the backend';

type Server = Awaited<ReturnType<typeof startTestServer>>;

function callersOf(server: Server) {
  const [door, admin] = [new Caller(server.url, null), new Caller(server.url, server.token)];
  onTestFinished(async () => {
    door.close();
    admin.close();
    await server.close();
  });
  const groupsOf = async (login: string) =>
    ((await admin.get(`/rc/v1/users/${login}/groups`)).body as { groups: readonly string[] }).groups;
  return { door, admin, groupsOf };
}

it('[GROUP-29] a user who signs in with a token of an identity provider is in the groups that its claim names', async () => {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'key' }];
  const issuer = issuerOf({ name: 'company', issuer: ISSUER, audience: AUDIENCE, keys, groups_claim: 'teams' });
  const { door, groupsOf } = callersOf(await startTestServer({ issuers: [issuer] }));
  const signIn = async (claims: object) => {
    const nowS = Math.floor(Date.now() / 1_000);
    const usual = { iss: ISSUER, sub: 'anna', aud: AUDIENCE, iat: nowS, exp: nowS + 300 };
    const jwt = new SignJWT({ ...usual, ...claims }).setProtectedHeader({ alg: 'ES256', kid: 'key' });
    return door.post('/sync/v1/login', { id_token: await jwt.sign(privateKey) });
  };
  expect((await signIn({ teams: ['north', 'south'] })).body).toMatchObject({ user_id: 'anna' });
  expect(await groupsOf('anna')).toEqual(['north', 'south']);
  expect((await signIn({})).status).toBe(200);
  expect(await groupsOf('anna')).toEqual(['north', 'south']);
  await signIn({ teams: 'west' });
  expect(await groupsOf('anna')).toEqual(['west']);
  expect((await signIn({ teams: [7] })).status).toBe(403);
  expect(await groupsOf('anna')).toEqual(['west']);
  await signIn({ teams: [] });
  expect(await groupsOf('anna')).toEqual([]);
});

it('[GROUP-29] a user whose login the backend checks is in the groups that the backend names', async () => {
  const backend = await openFakeBackend(() => SECRET);
  onTestFinished(() => backend.close());
  const { backend: usual } = testConfig('');
  const { door, admin, groupsOf } = callersOf(await startTestServer({ backend: { ...usual, secret: SECRET } }));
  await admin.post('/rc/v1/system/appserver', { adapter_url: backend.url });
  const signIn = async (answer: object) => {
    backend.on('authenticate', (_, response) => answerJson(response, answer));
    return door.post('/sync/v1/login', { login: 'bob', password: `${JSON.stringify(answer)} is a password` });
  };
  expect((await signIn({ user_id: 'bob', groups: ['south', 'north'] })).body).toMatchObject({ user_id: 'bob' });
  expect(await groupsOf('bob')).toEqual(['north', 'south']);
  expect((await signIn({ user_id: 'bob' })).status).toBe(200);
  expect(await groupsOf('bob')).toEqual(['north', 'south']);
  expect((await signIn({ user_id: 'bob', groups: [] })).status).toBe(200);
  expect(await groupsOf('bob')).toEqual([]);
});
