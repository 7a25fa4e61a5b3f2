import type { Bearer, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { FastifyRequest } from 'fastify';

/** What a route demands of the token. */
export type RouteScope = 'public' | 'read' | 'admin' | 'admin:reset' | 'push' | 'device';

/** Which scopes of a token open which routes. */
const OPENED_BY: Readonly<Record<Exclude<RouteScope, 'public'>, readonly string[]>> = {
  read: ['admin', 'read'],
  admin: ['admin'],
  'admin:reset': ['admin:reset'],
  push: ['admin', 'push'],
  device: ['device'],
};

const TOKEN_UNITS_MAX = 256;

/** Whoever sends a valid token with the scope the route demands; a refusal otherwise. */
export async function authenticate(
  tidemark: Tidemark,
  request: FastifyRequest,
  scope: Exclude<RouteScope, 'public'>,
  nowMs: number,
): Promise<Bearer> {
  const token = tokenOf(request);
  if (token === null) throw new Refusal('token_missing', 'this route needs a token, in a header');
  const bearer = token.length > TOKEN_UNITS_MAX ? null : await tidemark.tokens.check(token, nowMs);
  if (bearer === null) throw new Refusal('token_invalid', 'the token is mistyped, expired or revoked');
  if (!OPENED_BY[scope].some((opening) => bearer.scopes.some((given) => given === opening))) {
    throw new Refusal('forbidden', `this route needs a token with the scope ${OPENED_BY[scope].join(' or ')}`);
  }
  return bearer;
}

/** Only headers count: addresses are logged, and bodies are data. */
function tokenOf({ headers }: FastifyRequest): string | null {
  const own = headers['x-sync-api-token'];
  if (typeof own === 'string' && own !== '') return own;
  const [scheme, token] = (headers.authorization ?? '').split(' ');
  return scheme?.toLowerCase() === 'bearer' && token !== undefined && token !== '' ? token : null;
}
