import { parseJson } from '@tidemark/protocol';
import { allEntries } from '../entries/all-entries.ts';
import { lastOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { EntryWrite, Store } from '../ports/store.ts';
import { type EndedBecause, endedWrite } from './ended-tokens.ts';

/** The rights of a token. `admin:reset` is separate, because a reset cannot be undone. */
export const SCOPES = ['admin', 'admin:reset', 'read', 'push', 'device'] as const;

export type Scope = (typeof SCOPES)[number];

/** Only tokens of administrators may have these scopes. */
export const ADMIN_SCOPES: ReadonlySet<Scope> = new Set(['admin', 'admin:reset']);

export function isScope(value: unknown): value is Scope {
  return SCOPES.some((scope) => scope === value);
}

/** A stored token, under its hash. Only its dates ever change, when the clock that wrote them was ahead. */
export interface TokenRecord {
  readonly user: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  /** The device it was issued for. */
  readonly client: string | null;
  readonly createdAtMs: number;
  /** Null: the token is valid until it is revoked. */
  readonly expiresAtMs: number | null;
  /** True: a role at an identity provider gave the scopes. */
  readonly isByRole?: true;
}

/** A service token has a name and is used by a program; tokens of logins and devices have none. */
export function isServiceToken({ name, client }: Pick<TokenRecord, 'name' | 'client'>): boolean {
  return name !== null && client === null;
}

export function readTokenRecord(text: string): TokenRecord {
  return parseJson(text) as TokenRecord;
}

export function writeTokenRecord(record: TokenRecord): string {
  return JSON.stringify(record);
}

/** A token in the list of its user's tokens. */
export interface OwnedToken {
  readonly hash: string;
  readonly client: string | null;
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

/** With `because`, the devices that hold the tokens can be told why. */
export function tokenRemovals(
  login: string,
  tokens: readonly { readonly hash: string; readonly client?: string | null }[],
  because?: EndedBecause,
): EntryWrite[] {
  return tokens.flatMap(({ hash, client = null }) => [
    { ...refs.token(hash), value: null },
    { ...refs.userToken(login, hash), value: null },
    ...(because === undefined || client === null ? [] : [endedWrite(hash, because)]),
  ]);
}
