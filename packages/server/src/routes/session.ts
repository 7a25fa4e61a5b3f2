import type { Bearer, IssuedToken, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { CurrentSession, SignInProvider, SignInStart } from '@tidemark/protocol/admin/session';
import { closed, text } from '@tidemark/protocol/annotated';
import { Type } from '@tidemark/protocol/typebox';
import { refusalOfBearer } from '../auth/authenticate.ts';
import { endedCookie, requireOwnPage, sessionCookie, sessionToken } from '../auth/session-cookie.ts';
import { attemptIn, endedSignInCookie, signInCookie } from '../auth/sign-in-cookie.ts';
import { type Call, CookieAnswer, type RouteContext, route } from '../http/route.ts';
import { LOGIN_BYTES_MAX } from '../limits.ts';
import { Empty } from './shapes.ts';
import { ADMIN_TOKEN_REFUSALS, adminSignInOf, issueAdminToken, issueByRole } from './system.ts';

type CookieRequest = Call<never, never, never>['request'];

const Credentials = Type.Object(
  {
    login: Type.Optional(text('The login of an administrator.', 'admin')),
    password: Type.Optional(text('The password.', 'correct horse battery')),
    token: Type.Optional(text('A token to use instead of login and password.', 'tmk_2vXq…')),
    code: Type.Optional(text('The code with which the identity provider sent the browser back.', 'ab12…')),
    state: Type.Optional(text('The state that came with the code.', 'Vq3x…')),
  },
  {
    ...closed,
    title: 'SessionRequest',
    description: 'Login and password, or a token, or code and state of an identity provider.',
  },
);

const signIn = route({
  method: 'POST',
  path: '/rc/v1/session',
  operationId: 'sessionSignIn',
  scope: 'public',
  summary: 'Sign in to the web console',
  description:
    'Keeps the token in a cookie that scripts cannot read. The cookie counts only in calls with the header `X-Tidemark-Console` from pages of this server. The session may do what its token may do, and ends with it.',
  refusals: [
    ...(['invalid_credentials', 'token_invalid', 'forbidden', 'rate_limited'] as const),
    ...(['sign_in_state_invalid', 'sign_in_expired', 'sign_in_code_refused', 'id_token_nonce'] as const),
    ...ADMIN_TOKEN_REFUSALS,
  ],
  body: Credentials,
  answer: CurrentSession,
  bodyBytesMax: LOGIN_BYTES_MAX,
  audit: 'login',
  handle: async ({ context, body, request, address }) => {
    requireOwnPage(request);
    const token = await tokenFor(context, body, { address, request });
    const bearer = await context.tidemark.tokens.bearers.check(token, context.nowMs());
    const refusal = refusalOfBearer(bearer, 'read');
    if (bearer === null || refusal !== null) throw refusal;
    request.bearer = bearer;
    const { expiresAtMs } = bearer;
    const maxAgeS = expiresAtMs === null ? null : Math.ceil((expiresAtMs - context.nowMs()) / 1_000);
    const ended = body.code === undefined ? [] : [endedSignInCookie(request.isSecure)];
    return new CookieAnswer(sessionOf(bearer), sessionCookie(token, { isSecure: request.isSecure, maxAgeS }), ...ended);
  },
});

const provider = route({
  method: 'GET',
  path: '/rc/v1/session/provider',
  operationId: 'sessionProvider',
  scope: 'public',
  summary: 'The identity provider that administrators sign in with, or null',
  answer: SignInProvider,
  handle: async ({ context: { providers } }) => ({ name: providers.admins?.name ?? null }),
});

const begin = route({
  method: 'POST',
  path: '/rc/v1/session/provider',
  operationId: 'sessionBegin',
  scope: 'public',
  summary: 'Begin to sign in to the web console with the identity provider',
  description:
    'Authorization code flow with PKCE. Sets a cookie that only this browser has; the browser goes to `url`, comes back to `/console/` with `code` and `state`, and the console sends both to `POST /rc/v1/session`.',
  refusals: ['forbidden', 'sign_in_not_configured', 'issuer_unavailable'],
  body: Empty,
  answer: SignInStart,
  handle: async ({ context, request }) => {
    requireOwnPage(request);
    const { url, attempt } = await adminSignInOf(context).start(redirectUrl(context, request));
    return new CookieAnswer({ url }, signInCookie(attempt, request.isSecure));
  },
});

/** The provider accepts only addresses that were registered there, whatever host a request names. */
function redirectUrl({ publicUrl }: RouteContext, { protocol, host }: CookieRequest): string {
  return new URL('/console/', publicUrl ?? `${protocol}://${host}`).href;
}

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
    return new CookieAnswer(sessionOf(null), endedCookie(request.isSecure));
  },
});

interface Caller {
  readonly address: string;
  readonly request: CookieRequest;
}

/** Exactly one proof is given: a password, a token, or the code of an identity provider. */
async function tokenFor(context: RouteContext, body: Type.Static<typeof Credentials>, caller: Caller): Promise<string> {
  const { login, password, token, code, state } = body;
  const [given, ...others] = Object.keys(body).sort();
  if (token !== undefined && others.length === 0) return token;
  if (others.length === 1 && login !== undefined && password !== undefined) {
    return (await issueAdminToken(context, { login, password }, caller.address)).token;
  }
  if (others.length === 1 && code !== undefined && state !== undefined) {
    return (await issueForCode(context, { code, state }, caller)).token;
  }
  const what = given === undefined ? 'nothing' : [given, ...others].join(', ');
  throw new Refusal('invalid_request', `give login and password, or a token, or code and state; the body has ${what}`);
}

/** Failed attempts count for the address, so that strangers cannot make the server call the provider at will. */
async function issueForCode(
  context: RouteContext,
  proof: { readonly code: string; readonly state: string },
  { address, request }: Caller,
): Promise<IssuedToken> {
  const signIn = adminSignInOf(context);
  const back = { ...proof, redirectUrl: redirectUrl(context, request) };
  const admin = await context.limiter.attempt(address, proof.state, () => signIn.finish(attemptIn(request), back));
  if (admin === null) throw new Error('a sign-in ends with an administrator or a refusal');
  return issueByRole(context, admin);
}

async function bearerOfSession({ tidemark, nowMs }: RouteContext, request: CookieRequest): Promise<Bearer | null> {
  const token = sessionToken(request);
  return token === null ? null : tidemark.tokens.bearers.check(token, nowMs());
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

export const sessionRoutes = [signIn, get, signOut, provider, begin];
