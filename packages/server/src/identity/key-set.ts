import type { Clock, Log } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { type CryptoKey, createLocalJWKSet, errors, type JSONWebKeySet, type JWTHeaderParameters } from 'jose';
import type { IssuerConfig } from '../config/issuer-settings.ts';
import { ISSUER_KEYS_MAX, ISSUER_REFETCH_MS } from '../limits.ts';
import { FetchFailure } from '../outbound/get-json.ts';
import { CachedFetch } from './cached-fetch.ts';
import { discover, trustedUrl } from './discovery.ts';

export interface KeySetParts {
  readonly issuer: Pick<IssuerConfig, 'name' | 'issuer' | 'keys'>;
  readonly getJson: (url: URL) => Promise<unknown>;
  readonly steadyClock: Clock;
  readonly log: Log;
}

type Keys = (header: JWTHeaderParameters) => Promise<CryptoKey>;

/** The public keys of an issuer, fixed or fetched. An unknown key in a token causes a fetch, but not often. */
export class KeySet {
  readonly #parts: KeySetParts;
  readonly #fixed: Keys | null;
  readonly #fetched: CachedFetch<Keys>;

  constructor(parts: KeySetParts) {
    this.#parts = parts;
    const { issuer, steadyClock, log } = parts;
    const { keys } = issuer;
    this.#fixed = keys.kind === 'fixed' ? createLocalJWKSet({ keys: keys.keys } as JSONWebKeySet) : null;
    this.#fetched = new CachedFetch({
      fetch: async () => keysIn(await parts.getJson(await this.#url())),
      steadyClock,
      onFailure: ({ message: reason }) => log.warn('issuer_keys_not_fetched', { issuer: issuer.name, reason }),
    });
  }

  /** Returns the key that the header names. */
  async find(header: JWTHeaderParameters): Promise<CryptoKey> {
    const keys = await this.#current();
    const key = await matching(keys, header);
    if (key !== null) return key;
    if (this.#fixed === null && (await this.#fetched.refetch())) {
      const fetched = await matching(await this.#current(), header);
      if (fetched !== null) return fetched;
    }
    throw new Refusal('id_token_key_unknown', 'the issuer has no key that fits the header of the token');
  }

  async #current(): Promise<Keys> {
    const keys = this.#fixed ?? (await this.#fetched.get());
    if (keys !== null) return keys;
    const detail = `the keys of the issuer ${JSON.stringify(this.#parts.issuer.name)} cannot be fetched now`;
    throw new Refusal('issuer_unavailable', detail, [], Math.ceil(ISSUER_REFETCH_MS / 1_000));
  }

  async #url(): Promise<URL> {
    const { issuer, getJson } = this.#parts;
    if (issuer.keys.kind === 'url') return new URL(issuer.keys.url);
    return trustedUrl(await discover(issuer.issuer, getJson), 'jwks_uri');
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
