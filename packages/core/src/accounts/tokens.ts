import { DEVICE_TOKENS_MAX, LIST_MAX, pointer, Refusal } from '@tidemark/protocol';
import { admitName, quoted } from '../admission/admit-name.ts';
import { allEntries } from '../entries/all-entries.ts';
import { lastOf, ownerTouched } from '../entries/owner-index.ts';
import { refs } from '../entries/refs.ts';
import type { Clock } from '../ports/clock.ts';
import type { Random } from '../ports/random.ts';
import type { EntryList, EntryRef, EntryWrite, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { isoTime, isoTimeOrNull } from '../primitives/time.ts';
import { admitToken, type TokenCall } from './admit-token.ts';
import { type Bearer, Bearers } from './bearers.ts';
import { type EndedBecause, endedWrite } from './ended-tokens.ts';
import { trimExpiredTokens } from './expired-tokens.ts';
import {
  ADMIN_SCOPES,
  isServiceToken,
  readTokenRecord,
  type Scope,
  type TokenRecord,
  tokenRemovals,
  tokensOf,
  writeTokenRecord,
} from './token-record.ts';
import { isTokenId, newTokenText, tokenHash, tokenId } from './token-text.ts';
import { type Identity, readUserRecord } from './user-record.ts';

export interface TokensPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
}

/** A token in answers, without the token itself and its hash. */
export interface TokenView {
  readonly id: string;
  readonly user: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly client: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
}

/** A new token. Only this answer holds the token itself. */
export interface IssuedToken extends TokenView {
  readonly token: string;
}

export type IssueCall = TokenCall & {
  /** The stamp of the password that was verified. The token is not issued if the password has changed since. */
  readonly stamp?: string;
  /** The identity that was verified. The token is not issued if the login belongs to another user meanwhile. */
  readonly identity?: Identity;
  /** The generation of the user who was verified. The token is not issued to a later user of the same login. */
  readonly generation?: number;
  /** True: an identity provider has granted the scopes, so the user need not be an administrator of this server. */
  readonly isByRole?: boolean;
  /** True when the device may already have tokens; beyond the limit its oldest are revoked. */
  readonly isReturning?: boolean;
};

/** Access tokens. The store holds only their hashes. */
export class Tokens {
  /** Who presents which token. */
  readonly bearers: Bearers;
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor({ store, clock, random }: TokensPorts) {
    this.#store = store;
    this.#clock = clock;
    this.#random = random;
    this.bearers = new Bearers({ store, random });
  }

  async issue(call: IssueCall): Promise<IssuedToken> {
    const admitted = admitToken(call, this.#clock.nowMs());
    const isByRole = call.isByRole === true;
    const record: TokenRecord = isByRole ? { ...admitted, isByRole } : admitted;
    const { token, hash } = await this.#write(record, isByRole ? [] : adminGuards(record));
    if (!(await this.#isProofValid(call, record.user))) {
      await this.#remove(record.user, [{ hash }]);
      throw new Refusal('invalid_credentials', 'login or password is wrong');
    }
    if (call.isReturning && record.client !== null) {
      await this.#forgetOlder(record.user, record.client, { hashes: [hash] });
    }
    return { token, ...tokenView(hash, record) };
  }

  /**
   * Issues a new token with the scopes of the one presented, which stays valid so that a lost answer can be repeated.
   * Older tokens of the device are revoked.
   */
  async renew({ tokenId: id }: Bearer, expiresAtMs: number): Promise<IssuedToken> {
    const presented = await this.find(id);
    if (presented === null) throw tokenGone();
    const { user, name, scopes, client } = presented.record;
    const record = admitToken({ user, name, scopes, client, expiresAtMs }, this.#clock.nowMs());
    // The presented token was revoked meanwhile, for example by a new password: no new one is issued.
    const { token, hash } = await this.#write(record, [...adminGuards(record), refs.token(presented.hash)]);
    if (client !== null) {
      const kept = { hashes: [hash, presented.hash], sinceMs: presented.record.createdAtMs };
      await this.#forgetOlder(user, client, kept);
    }
    return { token, ...tokenView(hash, record) };
  }

  /** Returns the valid service tokens of a user. A new password of an administrator does not revoke them. */
  async serviceTokensOf(user: string, nowMs: number): Promise<readonly TokenView[]> {
    const views: TokenView[] = [];
    for await (const { key, value } of allEntries(this.#store, 'user_token', [user])) {
      const record = readTokenRecord(value);
      const isGood = record.expiresAtMs === null || record.expiresAtMs > nowMs;
      if (isServiceToken(record) && isGood) views.push(tokenView(lastOf(key), record));
    }
    return views;
  }

  async revoke(id: string): Promise<{ readonly revoked: string }> {
    return retryOnConflict(async () => {
      const found = await this.find(id);
      if (found === null) throw new Refusal('token_not_found', `there is no token ${quoted(id)}`);
      const { hash, record, version } = found;
      const writes: EntryWrite[] = [
        { ...refs.token(hash), value: null, expect: version },
        { ...refs.userToken(record.user, hash), value: null },
        ...(record.client === null ? [] : [endedWrite(hash, this.#revoked())]),
      ];
      const result = await this.#store.writeEntries({ writes, guards: [] });
      return result.status === 'written' ? { revoked: id } : null;
    });
  }

  /** Revokes all tokens of a device. Returns how many there were. */
  async revokeOfClient(user: string, client: string): Promise<number> {
    const tokens = (await tokensOf(this.#store, user)).filter((token) => token.client === client);
    await this.#remove(user, tokens, this.#revoked());
    return tokens.length;
  }

  /** Returns how many there were. */
  async revokeAllOf(user: unknown): Promise<number> {
    const login = admitName('login', user, pointer('user'));
    const tokens = await tokensOf(this.#store, login);
    await this.#remove(login, tokens, this.#revoked());
    return tokens.length;
  }

  /** Lists the tokens of a user, or of all users; `after` is the last id of the previous page. */
  async list(
    page: { readonly user?: unknown; readonly after?: string; readonly limit?: number } = {},
  ): Promise<readonly TokenView[]> {
    const entries = await this.#store.listEntries(entryListOf(page));
    return entries.map(({ key, value }) => tokenView(lastOf(key), readTokenRecord(value)));
  }

  /** Deletes expired tokens and returns how many. */
  trimExpired(nowMs: number): Promise<number> {
    return trimExpiredTokens(this.#store, nowMs);
  }

  /** Finds the entry of a short id. The hash never leaves the core. */
  async find(id: string): Promise<{ hash: string; record: TokenRecord; version: number } | null> {
    if (!isTokenId(id)) return null;
    // Entries are ordered by hash and the id is the beginning of the hash, so only the next entry can match.
    const [entry] = await this.#store.listEntries({ kind: 'token', prefix: [], after: [id], limit: 1 });
    if (entry === undefined || !lastOf(entry.key).startsWith(id)) return null;
    return { hash: lastOf(entry.key), record: readTokenRecord(entry.value), version: entry.version };
  }

  async #write(record: TokenRecord, guards: readonly EntryRef[]): Promise<{ token: string; hash: string }> {
    const token = newTokenText(this.#random);
    const hash = tokenHash(token);
    const batch = { writes: issueWrites(hash, record), guards: [...issueGuards(record), ...guards] };
    const result = await this.#store.writeEntries(batch);
    if (result.status === 'gone') throw refusalOf(result.guard);
    // The batch expects no versions, so it cannot conflict.
    if (result.status === 'conflict') throw new Error('a write without expectations met a conflict');
    return { token, hash };
  }

  /** Deletes the tokens of a device that were issued before `sinceMs`, and the oldest ones beyond the limit; never those of `hashes`. */
  async #forgetOlder(
    user: string,
    client: string,
    { hashes, sinceMs = 0 }: { readonly hashes: readonly string[]; readonly sinceMs?: number },
  ): Promise<void> {
    const others = (await this.#ofClient(user, client))
      .filter(({ hash }) => !hashes.includes(hash))
      .sort((left, right) => right.record.createdAtMs - left.record.createdAtMs);
    const free = DEVICE_TOKENS_MAX - hashes.length;
    const doomed = others.filter(({ record }, index) => index >= free || record.createdAtMs < sinceMs);
    await this.#remove(user, doomed);
  }

  async #ofClient(user: string, client: string): Promise<{ hash: string; record: TokenRecord }[]> {
    const tokens: { hash: string; record: TokenRecord }[] = [];
    for await (const { key, value } of allEntries(this.#store, 'user_token', [user])) {
      const record = readTokenRecord(value);
      if (record.client === client) tokens.push({ hash: lastOf(key), record });
    }
    return tokens;
  }

  async #remove(
    user: string,
    tokens: readonly { readonly hash: string; readonly client?: string | null }[],
    because?: EndedBecause,
  ): Promise<void> {
    if (tokens.length === 0) return;
    await this.#store.writeEntries({ writes: tokenRemovals(user, tokens, because), guards: [] });
  }

  #revoked(): EndedBecause {
    return { code: 'token_revoked', nowMs: this.#clock.nowMs() };
  }

  /**
   * The password, or the user of the login, may have changed between the verification and the write of the token. That
   * change did not see the token and could not revoke it, so it is revoked before anybody has got it. A later change
   * sees the token, because issuing it raised the version of the owner.
   */
  async #isProofValid({ stamp, identity, generation }: IssueCall, login: string): Promise<boolean> {
    if (generation !== undefined) {
      const entry = await this.#store.readEntry(refs.generation(login));
      if (entry?.version !== generation) return false;
    }
    if (stamp === undefined && identity === undefined) return true;
    const entry = await this.#store.readEntry(refs.user(login));
    if (entry === null) return false;
    const record = readUserRecord(entry.value);
    if (stamp !== undefined) return record.credential?.stamp === stamp;
    return record.identity?.issuer === identity?.issuer && record.identity?.subject === identity?.subject;
  }
}

/** Appended to an id, it sorts after every hash that begins with the id. */
const AFTER_HEX = '~';

/** The key in the list of all tokens after which the page begins that follows the token with this id. */
export function readTokenCursor(after: string): readonly string[] {
  if (!isTokenId(after)) throw badPage('after');
  return [after + AFTER_HEX];
}

function issueWrites(hash: string, record: TokenRecord): EntryWrite[] {
  const value = writeTokenRecord(record);
  return [
    { ...refs.token(hash), value },
    { ...refs.userToken(record.user, hash), value },
    ownerTouched('user', record.user),
    ...(record.client === null ? [] : [ownerTouched('client', record.client)]),
  ];
}

function issueGuards({ user, client }: TokenRecord): EntryRef[] {
  return [refs.user(user), ...(client === null ? [] : [refs.userClient(user, client)])];
}

function adminGuards({ user, scopes }: TokenRecord): EntryRef[] {
  return scopes.some((scope) => ADMIN_SCOPES.has(scope)) ? [refs.admin(user)] : [];
}

function refusalOf({ kind, key }: EntryRef): Refusal {
  const name = quoted(lastOf(key));
  if (kind === 'user') return new Refusal('user_not_found', `there is no user ${name}`);
  if (kind === 'token') return tokenGone();
  if (kind === 'user_client') return new Refusal('client_not_found', `there is no client ${name}`);
  return new Refusal('forbidden', `${name} is not an administrator`);
}

function tokenGone(): Refusal {
  return new Refusal('token_invalid', 'the token is mistyped, expired or revoked');
}

function entryListOf(page: { readonly user?: unknown; readonly after?: string; readonly limit?: number }): EntryList {
  const { user, after, limit = LIST_MAX } = page;
  if (!Number.isSafeInteger(limit) || limit < 1 || limit > LIST_MAX) throw badPage('limit');
  const prefix = user === undefined ? [] : [admitName('login', user, pointer('user'))];
  const from = after === undefined ? {} : { after: [...prefix, ...readTokenCursor(after)] };
  return { kind: user === undefined ? 'token' : 'user_token', prefix, limit, ...from };
}

function badPage(field: 'limit' | 'after'): Refusal {
  const detail = field === 'limit' ? `must be a whole number from 1 to ${LIST_MAX}` : 'must be the id of a token';
  return new Refusal('invalid_value', `${field} ${detail}`, [{ pointer: pointer(field), detail }]);
}

export function tokenView(hash: string, record: TokenRecord): TokenView {
  const { user, name, scopes, client, createdAtMs, expiresAtMs } = record;
  const times = { created_at: isoTime(createdAtMs), expires_at: isoTimeOrNull(expiresAtMs) };
  return { id: tokenId(hash), user, name, scopes, client, ...times };
}
