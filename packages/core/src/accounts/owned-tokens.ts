import { allEntries } from '../entries/all-entries.ts';
import { lastOf } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { EntryWrite, Store } from '../ports/store.ts';
import { isServiceToken, readTokenRecord } from './token-record.ts';

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
