import { pointer, Refusal } from '@tidemark/protocol';
import { Revoked } from '@tidemark/protocol/admin/tokens';
import { DeviceLogin, DeviceSession } from '@tidemark/protocol/sync-schemas';
import { type DeviceUser, deviceUser } from '../../auth/device-user.ts';
import { type RouteContext, route } from '../../http/route.ts';
import { TOKEN_REFUSALS } from '../../identity/token-refusals.ts';
import type { ProviderToken } from '../../identity/verify-token.ts';
import { LOGIN_BYTES_MAX } from '../../limits.ts';
import { Empty } from '../shapes.ts';
import { ownDevice } from './acting-device.ts';

const login = route({
  method: 'POST',
  path: '/sync/v1/login',
  operationId: 'deviceLogIn',
  scope: 'public',
  summary: 'Log in on a device',
  description:
    'A device signs in with login and password, with a token of an identity provider, or once with the code of an invite.',
  refusals: [
    ...(['invalid_credentials', 'invite_invalid', 'rate_limited', 'backend_unavailable'] as const),
    ...(['forbidden_key', 'immutable_attribute', 'invalid_value'] as const),
    ...TOKEN_REFUSALS,
  ],
  body: DeviceLogin,
  answer: DeviceSession,
  bodyBytesMax: LOGIN_BYTES_MAX,
  audit: 'device.login',
  auditActor: (answer) => (answer as DeviceSession).user_id,
  loginAs: 'device',
  handle: async ({ context, body, address }) => {
    const { client = null, device = {} } = body;
    // Before an invite is used up.
    context.tidemark.clients.requireAttributes(device);
    const user = await userOf(context, body, address);
    const generation = user.generation ?? (await context.tidemark.users.generationOf(user.login));
    if (user.groups !== undefined) await context.tidemark.groups.set(user.login, user.groups);
    const entered = await context.tidemark.clients.enter(user.login, client, device);
    const { token, expires_at } = await context.tidemark.tokens.issue({
      user: user.login,
      client: entered.id,
      scopes: ['device'],
      expiresAtMs: context.nowMs() + context.deviceTokenTtlMs,
      ...(user.stamp === undefined ? {} : { stamp: user.stamp }),
      ...(user.identity === undefined ? {} : { identity: user.identity }),
      ...(generation === null ? {} : { generation }),
      isReturning: entered.isReturning,
    });
    return {
      ...{ token, user_id: user.login, client_id: entered.id, expires_at },
      ...(generation === null ? {} : { generation }),
      ...(entered.isWiped ? { wipe: true } : {}),
    };
  },
});

/** The proof in the body decides who checks it: an identity provider its tokens, the others passwords. */
async function userOf(context: RouteContext, body: DeviceLogin, address: string): Promise<DeviceUser> {
  const { login: name, password, id_token, access_token, invite } = body;
  const given = [name ?? password, id_token, access_token, invite].filter((proof) => proof !== undefined);
  if (given.length > 1)
    throw new Refusal('invalid_request', 'the body has more than one of a password, tokens and an invite');
  // An invite works once, so its sign-in is not refused for having come too often.
  if (invite !== undefined) return invitedUser(context, body, invite, address);
  const user = await verifiedUser(context, body, address);
  context.signIns.countSignIn(user.login);
  return user;
}

async function verifiedUser(context: RouteContext, body: DeviceLogin, address: string): Promise<DeviceUser> {
  const { login: name, password, id_token, access_token } = body;
  const signIn = (token: ProviderToken) => context.signIns.verifyToken(address, () => context.providers.signIn(token));
  if (id_token !== undefined) return signIn({ kind: 'id_token', text: id_token });
  if (access_token !== undefined) return signIn({ kind: 'access_token', text: access_token });
  if (name === undefined) throw missing('login');
  if (password === undefined) throw missing('password');
  const user = await context.limiter.attempt(address, name, () => deviceUser(context, name, password));
  if (user === null) throw new Refusal('invalid_credentials', 'login or password is wrong');
  return user;
}

/**
 * Failed attempts count for the address; the code itself cannot be guessed. A device that must erase its data first gets
 * a token for nothing else, and signs in with the same code afterwards.
 */
async function invitedUser(
  context: RouteContext,
  { client = null }: DeviceLogin,
  code: string,
  address: string,
): Promise<DeviceUser> {
  const { limiter, tidemark } = context;
  const isWiped = async (login: string) => (await tidemark.clients.returning(login, client))?.isWiped === true;
  const user = await limiter.attempt(address, code, () => tidemark.invites.redeem(code, isWiped));
  if (user === null) throw new Refusal('invite_invalid', 'the invite is mistyped, used, replaced or expired');
  return user;
}

function missing(field: 'login' | 'password'): Refusal {
  const flaw = { pointer: pointer(field), detail: 'is missing' };
  return new Refusal('invalid_request', `the body has no ${field}, and no id_token or access_token either`, [flaw]);
}

const renew = route({
  method: 'POST',
  path: '/sync/v1/token',
  operationId: 'deviceRenewToken',
  scope: 'device',
  summary: 'A fresh token, before the old one expires',
  refusals: ['client_not_found', 'user_not_found'],
  body: Empty,
  answer: DeviceSession,
  handle: async ({ context, bearer }) => {
    const { user, client } = await ownDevice(context, bearer);
    if (bearer === null) throw new Error('a route with a scope was called without a bearer');
    // The token that is presented ends with the user, so a renewal that succeeds is of the generation that was read before.
    const generation = await context.tidemark.users.generationOf(user);
    const { token, expires_at } = await context.tidemark.tokens.renew(
      bearer,
      context.nowMs() + context.deviceTokenTtlMs,
    );
    return { token, user_id: user, client_id: client, expires_at, ...(generation === null ? {} : { generation }) };
  },
});

const signOut = route({
  method: 'DELETE',
  path: '/sync/v1/token',
  operationId: 'deviceSignOut',
  announces: 'sessions',
  scope: 'device',
  summary: 'Sign the device out; it stays registered',
  answer: Revoked,
  handle: async ({ context, bearer }) => {
    const { user, client, tokenId } = await ownDevice(context, bearer);
    await context.tidemark.tokens.revokeOfClient(user, client);
    context.events.signOut(client);
    return { revoked: tokenId };
  },
});

export const sessionRoutes = [login, renew, signOut];
