import type { Clock, Log } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWTHeaderParameters } from 'jose';
import { type IssuerConfig, isTrustedUrl } from '../config/issuer-settings.ts';
import { ISSUER_KEYS_FRESH_MS, ISSUER_KEYS_MAX, ISSUER_KEYS_STALE_MS_MAX, ISSUER_REFETCH_MS } from '../limits.ts';
import { FetchFailure } from '../outbound/get-json.ts';

export interface KeySetParts {
  readonly issuer: Pick<IssuerConfig, 'name' | 'issuer' | 'keys'>;
  readonly getJson: (url: URL) => Promise<unknown>;
  readonly steadyClock: Clock;
  readonly log: Log;
}

type Keys = (header: JWTHeaderParameters) => Promise<CryptoKey>;

interface CachedKeys {
  readonly keys: Keys;
  readonly fetchedAtMs: number;
}

const DISCOVERY_PATH = '/.well-known/openid-configuration';

/**
 * The public keys of an issuer. Fetched keys are used again for `ISSUER_KEYS_FRESH_MS`, and while the issuer cannot be
 * reached for `ISSUER_KEYS_STALE_MS_MAX`. Unknown keys in tokens of strangers cause at most one fetch in
 * `ISSUER_REFETCH_MS`.
 */
export class KeySet {
  readonly #parts: KeySetParts;
  readonly #fixed: Keys | null;
  #cached: CachedKeys | null = null;
  #fetching: Promise<void> | null = null;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: KeySetParts) {
    this.#parts = parts;
    const { keys } = parts.issuer;
    this.#fixed = keys.kind === 'fixed' ? createLocalJWKSet({ keys: keys.keys } as JSONWebKeySet) : null;
  }

  /** Returns the key that the header names. */
  async find(header: JWTHeaderParameters): Promise<CryptoKey> {
    const keys = await this.#current();
    const key = await matching(keys, header);
    if (key !== null) return key;
    if (this.#fixed === null && (await this.#refetch())) {
      const fetched = await matching(await this.#current(), header);
      if (fetched !== null) return fetched;
    }
    throw new Refusal('id_token_key_unknown', 'the issuer has no key that fits the header of the token');
  }

  async #current(): Promise<Keys> {
    if (this.#fixed !== null) return this.#fixed;
    if (this.#ageMs() >= ISSUER_KEYS_FRESH_MS) await this.#refetch();
    if (this.#cached !== null && this.#ageMs() < ISSUER_KEYS_STALE_MS_MAX) return this.#cached.keys;
    const { name } = this.#parts.issuer;
    const detail = `the keys of the issuer ${JSON.stringify(name)} cannot be fetched now`;
    throw new Refusal('issuer_unavailable', detail, [], Math.ceil(ISSUER_REFETCH_MS / 1_000));
  }

  /** Fetches the keys unless that was tried a short time ago. Concurrent callers share one fetch. */
  async #refetch(): Promise<boolean> {
    if (this.#fetching === null) {
      const nowMs = this.#parts.steadyClock.nowMs();
      if (nowMs - this.#triedAtMs < ISSUER_REFETCH_MS) return false;
      this.#triedAtMs = nowMs;
      this.#fetching = this.#fetch().finally(() => {
        this.#fetching = null;
      });
    }
    await this.#fetching;
    return true;
  }

  /** A failure is logged, and the keys stay as they are. */
  async #fetch(): Promise<void> {
    const { issuer, steadyClock, log } = this.#parts;
    try {
      const keys = keysIn(await this.#parts.getJson(await this.#url()));
      this.#cached = { keys, fetchedAtMs: steadyClock.nowMs() };
    } catch (error) {
      if (!(error instanceof FetchFailure)) throw error;
      log.warn('issuer_keys_not_fetched', { issuer: issuer.name, reason: error.message });
    }
  }

  async #url(): Promise<URL> {
    const { issuer, getJson } = this.#parts;
    if (issuer.keys.kind === 'url') return new URL(issuer.keys.url);
    const document = await getJson(new URL(`${issuer.issuer.replace(/\/$/, '')}${DISCOVERY_PATH}`));
    const { issuer: named, jwks_uri: url } = (document ?? {}) as {
      readonly issuer?: unknown;
      readonly jwks_uri?: unknown;
    };
    if (named !== issuer.issuer) throw new FetchFailure('the discovery document names another issuer');
    if (typeof url !== 'string' || !isTrustedUrl(url)) throw new FetchFailure('jwks_uri is not an https URL');
    return new URL(url);
  }

  #ageMs(): number {
    return this.#parts.steadyClock.nowMs() - (this.#cached?.fetchedAtMs ?? Number.NEGATIVE_INFINITY);
  }
}

/** Returns null if no key fits. Several keys fit if the token does not name one. */
async function matching(keys: Keys, header: JWTHeaderParameters): Promise<CryptoKey | null> {
  try {
    return await keys(header);
  } catch (error) {
    if (error instanceof errors.JWKSNoMatchingKey || error instanceof errors.JWKSMultipleMatchingKeys) return null;
    throw error;
  }
}

function keysIn(document: unknown): Keys {
  const { keys } = (document ?? {}) as { readonly keys?: unknown };
  if (!Array.isArray(keys)) throw new FetchFailure('the answer has no list of keys');
  if (keys.length > ISSUER_KEYS_MAX) throw new FetchFailure(`there are more than ${ISSUER_KEYS_MAX} keys`);
  try {
    return createLocalJWKSet({ keys } as JSONWebKeySet);
  } catch {
    throw new FetchFailure('the list of keys is malformed');
  }
}
