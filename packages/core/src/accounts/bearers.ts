import { ParsedEntryCache } from '../entries/parsed-entry-cache.ts';
import { refs } from '../entries/refs.ts';
import type { Random } from '../ports/random.ts';
import type { Entry, Store } from '../ports/store.ts';
import { readTokenEnd, type TokenEnd } from './ended-tokens.ts';
import { readTokenRecord, type Scope } from './token-record.ts';
import { isTokenText, newTokenText, tokenHash, tokenId } from './token-text.ts';

/** The owner of a valid token and its scopes. */
export interface Bearer {
  readonly tokenId: string;
  /** The hash under which the token is stored. Never part of an answer. */
  readonly tokenHash: string;
  readonly user: string;
  readonly name: string | null;
  readonly scopes: readonly Scope[];
  readonly client: string | null;
  readonly expiresAtMs: number | null;
  /** True: a role at an identity provider gave the scopes. They end with the token, unless the provider gives them again. */
  readonly isByRole: boolean;
}

export interface BearersPorts {
  readonly store: Store;
  readonly random: Random;
}

/** Tells who presents a token. Every request with one comes here. */
export class Bearers {
  readonly #store: Store;
  readonly #random: Random;
  readonly #parsed = new ParsedEntryCache(parse);
  /** By hash. */
  readonly #internal = new Map<string, Bearer>();

  constructor({ store, random }: BearersPorts) {
    this.#store = store;
    this.#random = random;
  }

  /**
   * Issues a token for a part of this process that calls the API. It is never stored, so it is valid in this process only,
   * until `endInternal` or the end of the process. The user is a name for the audit trail; it need not exist.
   */
  issueInternal({ user, scopes }: Pick<Bearer, 'user' | 'scopes'>): string {
    const token = newTokenText(this.#random);
    const hash = tokenHash(token);
    const rest = { name: null, client: null, expiresAtMs: null, isByRole: false };
    this.#internal.set(hash, { tokenId: tokenId(hash), tokenHash: hash, user, scopes, ...rest });
    return token;
  }

  endInternal(token: string): void {
    this.#internal.delete(tokenHash(token));
  }

  /** Whether the token with this hash is still valid. */
  async isGood(hash: string, nowMs: number): Promise<boolean> {
    return (await this.bearerOf(hash, nowMs)) !== null;
  }

  /** Returns the owner of the token, or null. A text that cannot be a token costs no look-up. */
  async check(token: string, nowMs: number): Promise<Bearer | null> {
    const hash = this.hashOf(token);
    return hash === null ? null : this.bearerOf(hash, nowMs);
  }

  /** Returns the hash under which the token is stored; null when the text cannot be a token. */
  hashOf(token: string): string | null {
    return isTokenText(token) ? tokenHash(token) : null;
  }

  /** Returns the owner of the token with this hash, or null. */
  async bearerOf(hash: string, nowMs: number): Promise<Bearer | null> {
    const internal = this.#internal.get(hash);
    if (internal !== undefined) return internal;
    const entry = await this.#store.readEntry(refs.token(hash));
    if (entry === null) return null;
    const bearer = this.#parsed.of(hash, entry);
    return bearer.expiresAtMs !== null && bearer.expiresAtMs <= nowMs ? null : bearer;
  }

  /** Returns why the token of a device is not valid, as far as that is known. Only its holder knows the hash. */
  async endOf(hash: string): Promise<'token_invalid' | 'token_expired' | TokenEnd> {
    const entry = await this.#store.readEntry(refs.token(hash));
    if (entry !== null && this.#parsed.of(hash, entry).client !== null) return 'token_expired';
    return (await readTokenEnd(this.#store, hash)) ?? 'token_invalid';
  }
}

function parse(hash: string, { value }: Entry): Bearer {
  const { user, name, scopes, client, expiresAtMs, isByRole = false } = readTokenRecord(value);
  return { tokenId: tokenId(hash), tokenHash: hash, user, name, scopes, client, expiresAtMs, isByRole };
}
