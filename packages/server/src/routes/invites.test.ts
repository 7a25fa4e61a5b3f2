import { INVITE_S_DEFAULT, INVITE_S_MAX, INVITE_S_MIN, type Invite } from '@tidemark/protocol';
import { Caller, makeUser, type Reply, USER_PASSWORD } from '@tidemark/testing';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it } from 'vitest';

let server: TestServer;
let admin: Caller;
let door: Caller;

beforeAll(async () => {
  server = await startTestServer();
  admin = new Caller(server.url, server.token);
  door = new Caller(server.url, null);
});

afterAll(async () => {
  admin.close();
  door.close();
  await server.close();
});

async function invite(login: string, body: object = {}): Promise<Invite> {
  const reply = await admin.post(`/rc/v1/users/${login}/invite`, body);
  expect(reply.status).toBe(200);
  return reply.body as Invite;
}

const signIn = (code: unknown): Promise<Reply> => door.post('/sync/v1/login', { invite: code });

it('[INVITE-1] a device signs in with an invite, without a password, and synchronises', async () => {
  await makeUser(server, 'anna');
  const { user_id, code, link, expires_at } = await invite('anna');
  // Without a `public_url` the server does not know its address.
  expect(link).toBeNull();
  expect([user_id, code]).toEqual(['anna', expect.stringMatching(/^tmi_\w{22}$/)]);
  const leftS = (Date.parse(expires_at) - Date.now()) / 1_000;
  expect(leftS).toBeGreaterThan(INVITE_S_DEFAULT - 600);
  const { body } = await signIn(code);
  const { token, client_id } = body as { readonly token: string; readonly client_id: string };
  expect(body).toMatchObject({ user_id: 'anna' });
  const device = new Caller(server.url, token);
  expect((await device.post('/sync/v1/pull', { client_id, sources: {} })).status).toBe(200);
  device.close();
});

it('[INVITE-2] an invite counts once, also for devices that use it at the same time', async () => {
  await makeUser(server, 'bob');
  const { code } = await invite('bob');
  const replies = await Promise.all([1, 2].map(() => signIn(code)));
  expect(replies.map((reply) => reply.code).sort()).toEqual(['invite_invalid', null].sort());
});

it('[INVITE-3] a new invite, a new password and the deletion of the user end an invite', async () => {
  const other = await startTestServer();
  const boss = new Caller(other.url, other.token);
  const guest = new Caller(other.url, null);
  const make = async () => (await boss.post('/rc/v1/users/carl/invite', {})).body as Invite;
  const codeOf = async ({ code }: Invite) => (await guest.post('/sync/v1/login', { invite: code })).code;
  await makeUser(other, 'carl');
  const first = await make();
  const second = await make();
  expect(await codeOf(first)).toBe('invite_invalid');
  await boss.put('/rc/v1/users/carl', { attributes: { password: USER_PASSWORD } });
  expect(await codeOf(second)).toBe('invite_invalid');
  const third = await make();
  await boss.delete('/rc/v1/users/carl');
  await makeUser(other, 'carl');
  expect(await codeOf(third)).toBe('invite_invalid');
  expect(await codeOf(await make())).toBeNull();
  boss.close();
  guest.close();
  await other.close();
});

it('[INVITE-9] an invite with keep_earlier leaves the one that was handed over valid, and ends as all do', async () => {
  await makeUser(server, 'emil');
  const handedOver = await invite('emil');
  const replaced = await invite('emil', { keep_earlier: true });
  const beside = await invite('emil', { keep_earlier: true });
  expect((await signIn(replaced.code)).code).toBe('invite_invalid');
  for (const { code } of [beside, handedOver]) expect((await signIn(code)).status).toBe(200);
  expect((await signIn(beside.code)).code).toBe('invite_invalid');
  const ended = await invite('emil', { keep_earlier: true });
  await admin.put('/rc/v1/users/emil', { attributes: { password: USER_PASSWORD } });
  expect((await signIn(ended.code)).code).toBe('invite_invalid');
});

it('[INVITE-4] the lifetime of an invite is bounded', async () => {
  await makeUser(server, 'dora');
  for (const expires_in_s of [INVITE_S_MIN, INVITE_S_MAX]) await invite('dora', { expires_in_s });
  for (const expires_in_s of [INVITE_S_MIN - 1, INVITE_S_MAX + 1]) {
    const reply = await admin.post('/rc/v1/users/dora/invite', { expires_in_s });
    expect(reply).toMatchObject({ status: 422, code: 'invalid_value' });
  }
});

it('[INVITE-5] the code of an invite is neither in the audit trail nor in a refusal', async () => {
  await makeUser(server, 'ella');
  const { code } = await invite('ella');
  await signIn(code);
  const refused = await signIn(code);
  const audit = await admin.get('/rc/v1/audit?limit=1000');
  expect(`${refused.text}${audit.text}`).not.toContain(code);
  expect(audit.body).toContainEqual(
    expect.objectContaining({ action: 'user.invite', actor: 'admin', target: '/rc/v1/users/ella/invite' }),
  );
});

it('[INVITE-6] only a token with the scope admin:reset invites an administrator, and only one with admin anybody', async () => {
  await makeUser(server, 'fred');
  for (const [scopes, user, code] of [
    [['admin'], 'admin', 'forbidden'],
    [['read', 'push'], 'fred', 'forbidden'],
    [['admin'], 'fred', null],
  ] as const) {
    const { body } = await admin.post('/rc/v1/tokens', { name: 'x', scopes });
    const caller = new Caller(server.url, (body as { readonly token: string }).token);
    expect((await caller.post(`/rc/v1/users/${user}/invite`, {})).code).toBe(code);
    caller.close();
  }
});

it('[INVITE-7] wrong codes are limited by address, and a code goes with no other proof', async () => {
  const other = await startTestServer();
  const guest = new Caller(other.url, null);
  const both = { invite: 'x', login: 'anna', password: 'y' };
  expect((await guest.post('/sync/v1/login', both)).code).toBe('invalid_request');
  const codes: (string | null)[] = [];
  for (const code of ['', 'x', 'tmi_', `tmi_${'a'.repeat(22)}`, `tmi_${'a'.repeat(5_000)}`, 'last']) {
    codes.push((await guest.post('/sync/v1/login', { invite: code })).code);
  }
  expect(codes).toEqual([...Array(5).fill('invite_invalid'), 'rate_limited']);
  guest.close();
  await other.close();
});
