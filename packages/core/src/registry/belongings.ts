import type { EntryWrite, Store } from '../ports/store.ts';
import { allEntries } from './all-entries.ts';
import { type OwnerKind, PRESENT, refs } from './refs.ts';
import { isServiceToken, readTokenRecord } from './token-record.ts';

/** A token as seen from its user. */
export interface OwnedToken {
  readonly hash: string;
  readonly client: string | null;
  /** Made for a program, by its name. */
  readonly isService: boolean;
}

/** How the roster of an owner stood before its list was made. */
export interface RosterMark {
  readonly kind: OwnerKind;
  readonly name: string;
  /** 0: there was none. */
  readonly version: number;
}

/** The list is complete only if the roster still has this version when something is done about it. */
export async function markRoster(store: Store, kind: OwnerKind, name: string): Promise<RosterMark> {
  const entry = await store.readEntry(refs.roster(kind, name));
  return { kind, name, version: entry?.version ?? 0 };
}

/** Says that something was added to the owner. It expects nothing, so those who add never wait for each other. */
export function enrolment(kind: OwnerKind, name: string): EntryWrite {
  return { ...refs.roster(kind, name), value: PRESENT };
}

/** Holds only if nothing was added since the mark; the owner stays. */
export function unchangedRoster({ kind, name, version }: RosterMark): EntryWrite {
  return { ...refs.roster(kind, name), value: PRESENT, expect: version };
}

/** Holds only if nothing was added since the mark; the roster goes with its owner. */
export function closedRoster({ kind, name, version }: RosterMark): EntryWrite {
  return { ...refs.roster(kind, name), value: null, expect: version };
}

export async function clientsOf(store: Store, login: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { key } of allEntries(store, 'user_client', [login])) ids.push(lastOf(key));
  return ids;
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

export function lastOf(key: readonly string[]): string {
  const last = key.at(-1);
  if (last === undefined) throw new Error('an entry without a key');
  return last;
}
