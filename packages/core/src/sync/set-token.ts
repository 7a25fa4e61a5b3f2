import { SET_TOKEN_AGE_MS_MAX, textChecksum } from '@tidemark/protocol';
import type { Clock } from '../ports/clock.ts';
import type { Owner } from '../ports/owner.ts';
import type { Store } from '../ports/store.ts';

/**
 * A set token stands for the tokens of all groups that a device has of a source: the device held everything that they had
 * at the mark. It is good while its terms are the same, and the store tells which groups changed after the mark.
 */
interface SetToken {
  readonly mark: string;
  readonly terms: string;
  /** When the device presented the tokens of all groups. */
  readonly sinceMs: number;
}

/** What a set token depends on besides the data of the groups. */
export interface SetTerms {
  /** A source that was deleted and declared again has another version. */
  readonly sourceVersion: number;
  readonly membershipVersion: number;
  /** How often the device has been told to start over. */
  readonly restarts: number;
  /** The groups that the device limits its pulls to; absent: all groups of the user. */
  readonly only?: readonly string[] | undefined;
}

const UNITS_MAX = 256;
const FORMAT = /^1~([\w.-]{1,128})~([\w.-]{1,64})~([0-9a-z]{1,11})$/;

function termsText({ sourceVersion, membershipVersion, restarts, only }: SetTerms): string {
  const digest = only === undefined ? '-' : textChecksum(JSON.stringify([...new Set(only)].sort())).toString(36);
  return `${sourceVersion.toString(36)}.${membershipVersion.toString(36)}.${restarts.toString(36)}.${digest}`;
}

/** The checksum at its end turns damage into an unknown token instead of a gap. */
function setTokenText({ mark, terms, sinceMs }: SetToken): string {
  const body = `1~${mark}~${terms}~${sinceMs.toString(36)}`;
  return `${body}~${textChecksum(body).toString(36)}`;
}

function readSetToken(text: string): SetToken | null {
  if (text.length > UNITS_MAX) return null;
  const [, mark, terms, since] = FORMAT.exec(text.slice(0, text.lastIndexOf('~'))) ?? [];
  if (mark === undefined || terms === undefined || since === undefined) return null;
  const token = { mark, terms, sinceMs: Number.parseInt(since, 36) };
  return setTokenText(token) === text ? token : null;
}

interface SetQuery {
  readonly source: string;
  /** The groups that the token stands for. */
  readonly owners: readonly Owner[];
  readonly terms: SetTerms;
  /** Null: the device has no set token and wants one. */
  readonly presented: string | null;
}

/** What the store says about a set of groups, at a moment before any of them is read. */
export interface ReadSet {
  readonly source: string;
  /** The groups that changed after the token that the device presented; null: it presented none. */
  readonly changed: readonly Owner[] | null;
  readonly mark: string;
  /** The token of a device that holds everything at the mark. */
  readonly token: string;
  readonly sinceMs: number;
}

/** Devices present the tokens of all groups again after a while, so that their tidemarks are recorded. */
export function isSetGoodAt(nowMs: number, { sinceMs }: Pick<SetToken, 'sinceMs'>): boolean {
  return Math.abs(nowMs - sinceMs) < SET_TOKEN_AGE_MS_MAX;
}

/**
 * Compares a set token with the store. `unknown`: the device must present the tokens of all its groups. Null: it presented
 * none, and the store cannot give one.
 */
export async function readSet(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  { source, owners, terms: given, presented }: SetQuery,
): Promise<ReadSet | 'unknown' | null> {
  const terms = termsText(given);
  const nowMs = clock.nowMs();
  const token = presented === null ? null : readSetToken(presented);
  const isGood = token !== null && token.terms === terms && isSetGoodAt(nowMs, token);
  if (presented !== null && !isGood) return 'unknown';
  const read = await store.changedSince({ source, owners, mark: token?.mark ?? null });
  if (read === null || (token !== null && read.changed === null)) return presented === null ? null : 'unknown';
  const { changed, mark } = read;
  const sinceMs = token?.sinceMs ?? nowMs;
  return { source, changed, mark, sinceMs, token: setTokenText({ mark, terms, sinceMs }) };
}

/** Whether any of the groups got a commit since the set was read. A store that cannot tell counts as true. */
export async function hasChanged(store: Store, { source, mark }: ReadSet, owners: readonly Owner[]): Promise<boolean> {
  const read = await store.changedSince({ source, owners, mark });
  return read?.changed?.length !== 0;
}
