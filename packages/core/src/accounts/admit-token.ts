import { nameProblem, pointer, Refusal } from '@tidemark/protocol';
import { admitName } from '../admission/admit-name.ts';
import { TIME_MS_MAX } from '../primitives/time.ts';
import type { TokenRecord } from './token-record.ts';
import { isScope, SCOPES, type Scope } from './token-record.ts';

/** A request for a token. */
export interface TokenCall {
  readonly user: unknown;
  readonly name?: unknown;
  readonly scopes: unknown;
  /** Null: the token is valid until it is revoked. */
  readonly expiresAtMs: number | null;
  readonly client?: unknown;
}

export function admitToken(call: TokenCall, nowMs: number): TokenRecord {
  const client = call.client ?? null;
  return {
    user: admitName('login', call.user, pointer('user')),
    name: admitLabel(call.name ?? null),
    scopes: admitScopes(call.scopes),
    client: client === null ? null : admitName('client', client, pointer('client')),
    createdAtMs: nowMs,
    expiresAtMs: admitExpiry(call.expiresAtMs, nowMs),
  };
}

function admitLabel(name: unknown): string | null {
  if (name === null) return null;
  if (typeof name !== 'string') throw refuse('invalid_request', 'name', 'must be a string');
  const problem = nameProblem('document', name);
  if (problem !== null) throw refuse('invalid_name', 'name', problem);
  return name;
}

function admitScopes(scopes: unknown): readonly Scope[] {
  if (!Array.isArray(scopes)) throw refuse('invalid_request', 'scopes', 'must be a list');
  if (scopes.length === 0 || !scopes.every(isScope)) {
    throw refuse('invalid_value', 'scopes', `must be one or more of ${SCOPES.join(', ')}`);
  }
  return SCOPES.filter((scope) => scopes.includes(scope));
}

function admitExpiry(expiresAtMs: number | null, nowMs: number): number | null {
  if (expiresAtMs === null) return null;
  if (Number.isSafeInteger(expiresAtMs) && expiresAtMs > nowMs && expiresAtMs <= TIME_MS_MAX) return expiresAtMs;
  throw refuse('invalid_value', 'expires_at', 'must be a moment in the future');
}

function refuse(code: 'invalid_request' | 'invalid_value' | 'invalid_name', field: string, detail: string): Refusal {
  return new Refusal(code, `${field} ${detail}`, [{ pointer: pointer(field), detail }]);
}
