import type { Bearer, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { CurrentSession } from '@tidemark/protocol/admin-schemas';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from 'typebox';
import { refusalOfBearer } from '../auth/authenticate.ts';
import { endedCookie, requireOwnPage, sessionCookie, sessionToken } from '../auth/session-cookie.ts';
import { type Call, CookieAnswer, type RouteContext, route } from '../http/route.ts';
import { LOGIN_BYTES_MAX } from '../limits.ts';
import { issueAdminToken } from './system.ts';

const Credentials = Type.Object(
  {
    login: Type.Optional(text('The login of an administrator.', 'admin')),
    password: Type.Optional(text('The password.', 'correct horse battery')),
    token: Type.Optional(text('A token to use instead of login and password.', 'tmk_2vXq…')),
  },
  { ...closed, title: 'SessionRequest', description: 'Login and password, or a token.' },
);

const signIn = route({
  method: 'POST',
  path: '/rc/v1/session',
  operationId: 'sessionSignIn',
  scope: 'public',
  summary: 'Sign in to the web console',
  description:
    'Keeps the token in a cookie that scripts cannot read. The cookie counts only in calls with the header `X-Tidemark-Console` from pages of this server. The session may do what its token may do, and ends with it.',
  refusals: ['invalid_credentials', 'token_invalid', 'forbidden', 'rate_limited'],
  body: Credentials,
  answer: CurrentSession,
  bodyBytesMax: LOGIN_BYTES_MAX,
  audit: 'login',
  handle: async ({ context, body, request, address }) => {
    requireOwnPage(request);
    const token = await tokenFor(context, body, address);
    const bearer = await context.tidemark.tokens.check(token, context.nowMs());
    const refusal = refusalOfBearer(bearer, 'read');
    if (bearer === null || refusal !== null) throw refusal;
    request.bearer = bearer;
    const { expiresAtMs } = bearer;
    const maxAgeS = expiresAtMs === null ? null : Math.ceil((expiresAtMs - context.nowMs()) / 1_000);
    return new CookieAnswer(sessionOf(bearer), sessionCookie(token, { isSecure: isSecure(request), maxAgeS }));
  },
});

const get = route({
  method: 'GET',
  path: '/rc/v1/session',
  operationId: 'sessionGet',
  scope: 'public',
  summary: 'The session of the web console, or null',
  refusals: ['forbidden', 'store_unavailable'],
  answer: CurrentSession,
  handle: async ({ context, request }) => sessionOf(await bearerOfSession(context, request)),
});

const signOut = route({
  method: 'DELETE',
  path: '/rc/v1/session',
  operationId: 'sessionSignOut',
  announces: 'sessions',
  scope: 'public',
  summary: 'Sign out of the web console',
  description: 'Revokes the token if a password has issued it. A token with a name stays valid.',
  refusals: ['forbidden'],
  answer: CurrentSession,
  audit: 'logout',
  handle: async ({ context, request }) => {
    requireOwnPage(request);
    const bearer = await bearerOfSession(context, request);
    request.bearer = bearer;
    if (bearer !== null && bearer.name === null) await revoke(context.tidemark, bearer);
    return new CookieAnswer(sessionOf(null), endedCookie(isSecure(request)));
  },
});

function tokenFor(context: RouteContext, body: Type.Static<typeof Credentials>, address: string): Promise<string> {
  const { login, password, token } = body;
  if (token !== undefined && login === undefined && password === undefined) return Promise.resolve(token);
  if (token !== undefined || login === undefined || password === undefined) {
    throw new Refusal('invalid_request', 'give either login and password, or a token');
  }
  return issueAdminToken(context, { login, password }, address).then((issued) => issued.token);
}

async function bearerOfSession(
  { tidemark, nowMs }: RouteContext,
  request: Call<never, never, never>['request'],
): Promise<Bearer | null> {
  const token = sessionToken(request);
  return token === null ? null : tidemark.tokens.check(token, nowMs());
}

/** Another window may have signed out already. */
async function revoke({ tokens }: Tidemark, { tokenId }: Bearer): Promise<void> {
  await tokens.revoke(tokenId).catch((error: unknown) => {
    if (!(error instanceof Refusal) || error.code !== 'token_not_found') throw error;
  });
}

function sessionOf(bearer: Bearer | null): CurrentSession {
  if (bearer === null) return { session: null };
  const { user, tokenId: token_id, scopes, expiresAtMs } = bearer;
  const expires_at = expiresAtMs === null ? null : new Date(expiresAtMs).toISOString();
  return { session: { user, token_id, scopes: [...scopes], expires_at } };
}

function isSecure({ protocol }: Call<never, never, never>['request']): boolean {
  return protocol === 'https';
}

export const sessionRoutes = [signIn, get, signOut];
