import type { Bearer, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { FastifyRequest } from 'fastify';
import { bearerToken } from './require-unambiguous.ts';
import { sessionToken } from './session-cookie.ts';

/** The scope that a route requires. */
export type RouteScope = 'public' | 'read' | 'admin' | 'admin:reset' | 'push' | 'device';

/** The scopes of a token that satisfy the scope of a route. */
const ACCEPTED_SCOPES: Readonly<Record<Exclude<RouteScope, 'public'>, readonly string[]>> = {
  read: ['admin', 'read'],
  admin: ['admin'],
  'admin:reset': ['admin:reset'],
  push: ['admin', 'push'],
  device: ['device'],
};

const TOKEN_UNITS_MAX = 256;

/** Returns the bearer of a valid token with the required scope; refuses otherwise. */
export async function authenticate(
  tidemark: Tidemark,
  request: FastifyRequest,
  scope: Exclude<RouteScope, 'public'>,
  nowMs: number,
): Promise<Bearer> {
  const bearer = await findBearer(tidemark, request, nowMs);
  const refusal = refusalOfBearer(bearer, scope);
  if (bearer === null || refusal !== null) throw refusal;
  return bearer;
}

const NO_BEARER = Promise.resolve(null);

/** Returns the bearer of the token, or null if the token is unknown. Refuses a request without a token. */
export function findBearer(tidemark: Tidemark, request: FastifyRequest, nowMs: number): Promise<Bearer | null> {
  const token = tokenOf(request);
  if (token === null) throw new Refusal('token_missing', 'this route needs a token in a header');
  const hash = hashOf(tidemark, request, token);
  return hash === null ? NO_BEARER : tidemark.tokens.bearers.bearerOf(hash, nowMs);
}

/** Returns why the token in the request is not valid. Devices are told how their session ended, as far as that is known. */
export async function refusalOfToken(tidemark: Tidemark, request: FastifyRequest, scope: RouteScope): Promise<Refusal> {
  const token = scope === 'device' ? tokenOf(request) : null;
  const hash = token === null ? null : hashOf(tidemark, request, token);
  const code = hash === null ? 'token_invalid' : await tidemark.tokens.bearers.endOf(hash);
  return new Refusal(code, END_DETAILS[code]);
}

const END_DETAILS = {
  token_invalid: 'the token is mistyped, expired or revoked',
  token_expired: 'the token of the device has expired',
  token_revoked: 'the device was signed out, or its token was revoked',
  password_changed: 'the password of the user has changed since the device signed in',
  client_deleted: 'the device was deleted',
} as const;

/** Returns why the bearer may not call routes of the scope, or null. */
export function refusalOfBearer(bearer: Bearer | null, scope: Exclude<RouteScope, 'public'>): Refusal | null {
  if (bearer === null) return new Refusal('token_invalid', END_DETAILS.token_invalid);
  for (const accepted of ACCEPTED_SCOPES[scope]) if (bearer.scopes.some((given) => given === accepted)) return null;
  return new Refusal('forbidden', `this route needs a token with the scope ${ACCEPTED_SCOPES[scope].join(' or ')}`);
}

interface CachedHash {
  readonly token: string;
  readonly hash: string | null;
}

/** The last token of each connection and its hash: most callers keep their connection and token. */
const lastTokens = new WeakMap<object, CachedHash>();

/** Returns null if the text cannot be a token. The store still checks the token at every request. */
function hashOf({ tokens }: Tidemark, { raw: { socket } }: FastifyRequest, token: string): string | null {
  if (token.length > TOKEN_UNITS_MAX) return null;
  const last = lastTokens.get(socket);
  if (last?.token === token) return last.hash;
  const hash = tokens.bearers.hashOf(token);
  lastTokens.set(socket, { token, hash });
  return hash;
}

/** Whether a request that is authenticated is one of the console, whose session is in a cookie. */
export function isBySession({ headers, bearer }: FastifyRequest): boolean {
  const hasToken = (headers['x-sync-api-token'] ?? '') !== '' || bearerIn(headers.authorization) !== null;
  return bearer !== null && !hasToken;
}

function bearerIn(authorization: string | undefined): string | null {
  return authorization === undefined ? null : bearerToken(authorization);
}

/** Reads only headers: URLs are logged, and bodies are data. A cookie counts only when no header holds a token. */
function tokenOf(request: FastifyRequest): string | null {
  const { headers } = request;
  const own = headers['x-sync-api-token'];
  if (typeof own === 'string' && own !== '') return own;
  const bearer = bearerIn(headers.authorization);
  if (bearer !== null || headers.cookie === undefined) return bearer;
  return sessionToken(request);
}
