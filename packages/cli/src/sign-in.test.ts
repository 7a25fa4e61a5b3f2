import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Invite } from '@tidemark/protocol';
import { readConfig } from '@tidemark/server';
import {
  Caller,
  makeUser,
  OIDC_ADMIN,
  OIDC_CLIENT,
  type OidcServer,
  openOidcServer,
  type TemporaryFolder,
  temporaryFolder,
} from '@tidemark/testing';
import { runInProcess, startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

const PUBLIC_URL = 'https://sync.example';

let oidc: OidcServer;
let folder: TemporaryFolder;
let server: TestServer;
let door: Caller;

beforeAll(async () => {
  folder = await temporaryFolder();
  oidc = await openOidcServer({ redirectUrl: `${PUBLIC_URL}/console/`, roles: { tom: ['ops'] } });
  const { issuers, adminSignIn } = await signInConfig();
  server = await startTestServer({ publicUrl: PUBLIC_URL, trustProxy: true, issuers, adminSignIn });
  door = new Caller(server.url, null);
});

afterAll(async () => {
  door.close();
  await server.close();
  await oidc.close();
  await folder.remove();
});

async function signInConfig() {
  const file = join(folder.path, 'tidemark.json');
  const settings = {
    issuers: [{ name: 'company', issuer: oidc.issuer, audience: OIDC_CLIENT, create_users: false }],
    admin_sign_in: {
      ...{ issuer: 'company', client_id: OIDC_ADMIN.clientId, role_claim: 'roles' },
      roles: [{ name: 'ops', scopes: ['admin'] }],
    },
  };
  await writeFile(file, JSON.stringify(settings));
  return readConfig({ TIDEMARK_CONFIG: file, TIDEMARK_ADMIN_SIGN_IN_CLIENT_SECRET: OIDC_ADMIN.clientSecret });
}

/** The ID token that a program gets for the client of the console. */
async function idTokenOf(person: string): Promise<string> {
  const begun = await door.post('/rc/v1/session/provider', {}, { 'x-tidemark-console': '1' });
  const { url } = begun.body as { readonly url: string };
  const verifier = begun.headers['set-cookie']?.[0]?.split(';')[0]?.split('.')[2] ?? '';
  const { code } = await oidc.authorize(url, person);
  return oidc.exchange({ code, verifier, redirectUrl: `${PUBLIC_URL}/console/` });
}

function cli(args: readonly string[], input = '', env: Readonly<Record<string, string>> = {}) {
  return runInProcess(args, {
    env: { HOME: folder.path, TIDEMARK_URL: server.url, ...env },
    folder: folder.path,
    input,
  });
}

it('[CLI-39] login --id-token-stdin signs an administrator in with a token of a real provider', async () => {
  expect(await cli(['login', '--id-token-stdin'], 'no token')).toMatchObject({ code: 77 });
  const login = await cli(['login', '--id-token-stdin', '--json'], `${await idTokenOf('tom')}\n`);
  expect(login).toMatchObject({ code: 0, err: '' });
  expect(JSON.parse(login.out)).toMatchObject({ url: server.url, login: 'tom' });
  const whoami = await cli(['whoami', '--json']);
  expect(JSON.parse(whoami.out)).toMatchObject({ user: 'tom', scopes: ['admin'] });
});

it('[CLI-39] [INVITE-8] users invite prints a code and a link, with which a device signs in once', async () => {
  await makeUser(server, 'ada');
  const args = ['users', 'invite', 'ada', '--expires-in-s', '600', '--json'];
  const { code: exitCode, out } = await cli(args, '', { TIDEMARK_TOKEN: server.token });
  expect(exitCode).toBe(0);
  const { code, link } = JSON.parse(out) as Invite;
  expect(link).toBe(`${PUBLIC_URL}/invite#${code}`);
  const invite = new URL(link ?? '').hash.slice(1);
  expect(await door.post('/sync/v1/login', { invite })).toMatchObject({ status: 200, body: { user_id: 'ada' } });
  expect(await door.post('/sync/v1/login', { invite })).toMatchObject({ status: 401, code: 'invite_invalid' });
});

it('[CLI-39] users invite refuses a lifetime that is not a number', async () => {
  const refused = await cli(['users', 'invite', 'ada', '--expires-in-s', 'soon'], '', { TIDEMARK_TOKEN: server.token });
  expect(refused).toMatchObject({ code: 2 });
});
