import { DEFAULT_LIMITS, INVITE_S_MIN } from '@tidemark/protocol';
import { openMemoryStore, seededRandom, settableClock, weakPasswords } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { Invites } from './invites.ts';
import { Tokens } from './tokens.ts';
import { Users } from './users.ts';

async function setUp() {
  const random = seededRandom(1);
  const store = openMemoryStore({ random });
  const clock = settableClock();
  const ports = { store, clock, random, passwords: weakPasswords(random), limits: DEFAULT_LIMITS };
  const users = new Users(ports);
  await users.create({ attributes: { login: 'ada', password: 'x' } });
  const invitesLeft = async () => (await store.listEntries({ kind: 'setting', prefix: ['invite'], limit: 10 })).length;
  return { store, clock, users, invites: new Invites(ports), tokens: new Tokens(ports), invitesLeft };
}

it('[INVITE-4] an expired invite is refused, and is deleted when it is trimmed', async () => {
  const { clock, invites, invitesLeft } = await setUp();
  const { code } = await invites.issue('ada', { lifetimeS: INVITE_S_MIN });
  clock.advance(INVITE_S_MIN * 1_000 - 1);
  await invites.trim();
  expect(await invitesLeft()).toBe(1);
  clock.advance(1);
  expect(await invites.redeem(code)).toBeNull();
  await invites.issue('ada', { lifetimeS: INVITE_S_MIN });
  clock.advance(INVITE_S_MIN * 1_000);
  await invites.trim();
  expect(await invitesLeft()).toBe(0);
});

it('[INVITE-2] the store holds a hash and not the code', async () => {
  const { store, invites } = await setUp();
  const { code } = await invites.issue('ada');
  const entries = await store.listEntries({ kind: 'setting', prefix: [], limit: 100 });
  expect(JSON.stringify(entries)).not.toContain(code.slice(4));
});

it('[INVITE-3] a token is not issued to a later user of the login', async () => {
  const { invites, users, tokens } = await setUp();
  const invited = await invites.redeem((await invites.issue('ada')).code);
  await users.delete('ada');
  await users.create({ attributes: { login: 'ada', password: 'x' } });
  const call = { user: 'ada', scopes: ['device'], expiresAtMs: null, generation: invited?.generation ?? 0 };
  await expect(tokens.issue(call)).rejects.toMatchObject({ code: 'invalid_credentials' });
});
