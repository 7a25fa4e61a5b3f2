import { parseJson } from '@tidemark/protocol';
import { allEntries } from '../entries/all-entries.ts';
import { lastOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { EntryWrite, Store } from '../ports/store.ts';

/** What a token lets its bearer do. `admin:reset` is apart, because nothing undoes a reset. */
export const SCOPES = ['admin', 'admin:reset', 'read', 'push', 'device'] as const;

export type Scope = (typeof SCOPES)[number];

/** Only an administrator's tokens may carry these. */
export const ADMIN_SCOPES: ReadonlySet<Scope> = new Set(['admin', 'admin:reset']);

export function isScope(value: unknown): value is Scope {
  return SCOPES.some((scope) => scope === value);
}

/** What is kept of a token, under its hash. A token is issued once and goes once; only its dates change, when the clock that wrote them was ahead. */
export interface TokenRecord {
  readonly user: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  /** The device it was made for. */
  readonly client: string | null;
  readonly createdAtMs: number;
  /** Null: it lives until it is revoked. */
  readonly expiresAtMs: number | null;
}

/** A token that somebody has named, for a program: not that of a login, nor of a device. */
export function isServiceToken({ name, client }: Pick<TokenRecord, 'name' | 'client'>): boolean {
  return name !== null && client === null;
}

export function readTokenRecord(text: string): TokenRecord {
  return parseJson(text) as TokenRecord;
}

export function writeTokenRecord(record: TokenRecord): string {
  return JSON.stringify(record);
}

/** A token as seen from its user. */
export interface OwnedToken {
  readonly hash: string;
  readonly client: string | null;
  /** Made for a program, by its name. */
  readonly isService: boolean;
}

export async function tokensOf(store: Store, login: string): Promise<OwnedToken[]> {
  const tokens: OwnedToken[] = [];
  for await (const { key, value } of allEntries(store, 'user_token', [login])) {
    const { client, name } = readTokenRecord(value);
    tokens.push({ hash: lastOf(key), client, isService: isServiceToken({ client, name }) });
  }
  return tokens;
}

export function tokenRemovals(login: string, tokens: readonly Pick<OwnedToken, 'hash'>[]): EntryWrite[] {
  return tokens.flatMap(({ hash }) => [
    { ...refs.token(hash), value: null },
    { ...refs.userToken(login, hash), value: null },
  ]);
}
