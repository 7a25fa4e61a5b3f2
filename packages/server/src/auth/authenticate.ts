import type { Bearer, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { FastifyRequest } from 'fastify';
import { bearerToken } from '../http/require-unambiguous.ts';

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
  const bearer = await findBearer(tidemark, request, nowMs);
  const refusal = refusalOfBearer(bearer, scope);
  if (bearer === null || refusal !== null) throw refusal;
  return bearer;
}

const NOBODY = Promise.resolve(null);

/** Whose token came with the request; null: nobody's. Without any token it is refused at once. */
export function findBearer(tidemark: Tidemark, request: FastifyRequest, nowMs: number): Promise<Bearer | null> {
  const token = tokenOf(request);
  if (token === null) throw new Refusal('token_missing', 'this route needs a token, in a header');
  const hash = hashOf(tidemark, request, token);
  return hash === null ? NOBODY : tidemark.tokens.bearerOf(hash, nowMs);
}

/** Why this bearer may not call routes of the scope; null: nothing is in the way. */
export function refusalOfBearer(bearer: Bearer | null, scope: Exclude<RouteScope, 'public'>): Refusal | null {
  if (bearer === null) return new Refusal('token_invalid', 'the token is mistyped, expired or revoked');
  for (const opening of OPENED_BY[scope]) if (bearer.scopes.some((given) => given === opening)) return null;
  return new Refusal('forbidden', `this route needs a token with the scope ${OPENED_BY[scope].join(' or ')}`);
}

interface Presented {
  readonly token: string;
  readonly hash: string | null;
}

/** What was presented last on each connection: most callers keep theirs, and come with the same token every time. */
const lastPresented = new WeakMap<object, Presented>();

/** Null: it cannot be a token. Whether the token is still good is asked of the store every time. */
function hashOf({ tokens }: Tidemark, { raw: { socket } }: FastifyRequest, token: string): string | null {
  if (token.length > TOKEN_UNITS_MAX) return null;
  const last = lastPresented.get(socket);
  if (last?.token === token) return last.hash;
  const hash = tokens.hashOf(token);
  lastPresented.set(socket, { token, hash });
  return hash;
}

/** Only headers count: addresses are logged, and bodies are data. */
function tokenOf({ headers }: FastifyRequest): string | null {
  const own = headers['x-sync-api-token'];
  if (typeof own === 'string' && own !== '') return own;
  return headers.authorization === undefined ? null : bearerToken(headers.authorization);
}
