import { nameProblem, Refusal } from '@tidemark/protocol';
import { Revoked } from '@tidemark/protocol/admin-schemas';
import { DeviceLogin, DeviceSession } from '@tidemark/protocol/sync-schemas';
import { deviceUser } from '../../auth/device-user.ts';
import { type RouteContext, route } from '../../http/route.ts';
import { Empty } from '../shapes.ts';
import { actingDevice } from './acting-device.ts';

/** Anybody may send this body, so it is as small as its members allow. */
const LOGIN_BYTES_MAX = 16_384;

const login = route({
  method: 'POST',
  path: '/sync/v1/login',
  operationId: 'deviceLogIn',
  scope: 'public',
  summary: 'Log in on a device',
  refusals: ['invalid_credentials', 'rate_limited', 'backend_unavailable'],
  body: DeviceLogin,
  answer: DeviceSession,
  bodyBytesMax: LOGIN_BYTES_MAX,
  audit: 'device.login',
  handle: async ({ context, body, address }) => {
    const { login: name, password, client = null } = body;
    const user = await context.limiter.attempt(address, name, () => deviceUser(context, name, password));
    if (user === null) throw new Refusal('invalid_credentials', 'login or password is wrong');
    const known = await ownClient(context, user.login, client);
    const client_id = known ?? (await context.tidemark.clients.register(user.login, {})).client_id;
    const { token, expires_at } = await context.tidemark.tokens.issue({
      user: user.login,
      client: client_id,
      scopes: ['device'],
      expiresAtMs: context.nowMs() + context.deviceTokenTtlMs,
      ...(user.stamp === undefined ? {} : { stamp: user.stamp }),
      isReturning: known !== null,
    });
    return { token, user_id: user.login, client_id, expires_at };
  },
});

/** Returns the previous id of the device if it belongs to this user. */
async function ownClient({ tidemark }: RouteContext, login: string, wanted: string | null): Promise<string | null> {
  const isName = wanted !== null && nameProblem('client', wanted) === null;
  return isName && (await tidemark.clients.isOf(login, wanted)) ? wanted : null;
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
    const { user, client } = actingDevice(bearer);
    if (bearer === null) throw new Error('a route with a scope was called without a bearer');
    const { token, expires_at } = await context.tidemark.tokens.renew(
      bearer,
      context.nowMs() + context.deviceTokenTtlMs,
    );
    return { token, user_id: user, client_id: client, expires_at };
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
    const { user, client, tokenId } = actingDevice(bearer);
    await context.tidemark.tokens.revokeOfClient(user, client);
    context.events.signOut(client);
    return { revoked: tokenId };
  },
});

export const sessionRoutes = [login, renew, signOut];
