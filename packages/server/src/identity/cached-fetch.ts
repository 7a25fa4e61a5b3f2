import type { Clock } from '@tidemark/core';
import { ISSUER_KEYS_FRESH_MS, ISSUER_KEYS_STALE_MS_MAX, ISSUER_REFETCH_MS } from '../limits.ts';
import { FetchFailure } from '../outbound/get-json.ts';

export interface CachedFetchParts<T> {
  readonly fetch: () => Promise<T>;
  readonly steadyClock: Clock;
  readonly onFailure: (failure: FetchFailure) => void;
}

/**
 * Something of an issuer that is fetched and used again for `ISSUER_KEYS_FRESH_MS`, and while the issuer cannot be
 * reached for `ISSUER_KEYS_STALE_MS_MAX`. Whatever strangers send, there is at most one fetch in `ISSUER_REFETCH_MS`.
 */
export class CachedFetch<T> {
  readonly #parts: CachedFetchParts<T>;
  #cached: { readonly value: T; readonly fetchedAtMs: number } | null = null;
  #fetching: Promise<void> | null = null;
  #triedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: CachedFetchParts<T>) {
    this.#parts = parts;
  }

  /** Returns null if it cannot be fetched and what is known is too old. */
  async get(): Promise<T | null> {
    if (this.#ageMs() >= ISSUER_KEYS_FRESH_MS) await this.refetch();
    return this.#cached !== null && this.#ageMs() < ISSUER_KEYS_STALE_MS_MAX ? this.#cached.value : null;
  }

  /** Fetches it unless that was tried a short time ago. Concurrent callers share one fetch. */
  async refetch(): Promise<boolean> {
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

  /** After a failure, what is known stays. */
  async #fetch(): Promise<void> {
    try {
      this.#cached = { value: await this.#parts.fetch(), fetchedAtMs: this.#parts.steadyClock.nowMs() };
    } catch (error) {
      if (!(error instanceof FetchFailure)) throw error;
      this.#parts.onFailure(error);
    }
  }

  #ageMs(): number {
    return this.#parts.steadyClock.nowMs() - (this.#cached?.fetchedAtMs ?? Number.NEGATIVE_INFINITY);
  }
}
