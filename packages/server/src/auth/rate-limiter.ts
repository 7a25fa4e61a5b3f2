import { type Bearer, BoundedMap, type Clock, TokenBuckets } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { RateLimits } from '../config/config.ts';
import { RATE_LIMIT_KEYS_MAX } from '../limits.ts';

type Subject = 'device' | 'user' | 'token';

interface Limit {
  readonly subject: Subject;
  readonly buckets: TokenBuckets;
  readonly quota: number;
  readonly keyOf: (bearer: Bearer) => string | null;
}

export const RATE_POLICY_HEADER = 'ratelimit-policy';
export const RATE_HEADER = 'ratelimit';

/** The values of these headers. */
export interface RateHeaders {
  readonly policy: string;
  readonly state: string;
}

/** Requests that were let through, for the other servers. */
export interface SpentRequests {
  readonly subject: Subject;
  readonly key: string;
  readonly count: number;
}

/** Servers tell each other of the requests of a caller in portions of this share of a bucket. */
const TOLD_SHARE = 1 / 20;

/**
 * Limits the requests of each device, user and token by token buckets. A refused request costs nothing. Servers tell each
 * other of requests once a caller has used half of a bucket, some requests at a time; so a caller who uses several servers
 * at once may be let through a little more often.
 */
export class RateLimiter {
  readonly #limits: readonly Limit[];
  readonly #windowS: number;
  readonly #onSpent: (spent: SpentRequests) => void;
  /** Requests that the other servers have not been told of, by subject and key. */
  readonly #untold = new BoundedMap<string, number>(RATE_LIMIT_KEYS_MAX);

  constructor(
    { windowS, perDevice, perUser, perToken }: RateLimits,
    clock: Clock,
    onSpent: (spent: SpentRequests) => void = () => undefined,
  ) {
    this.#windowS = windowS;
    this.#onSpent = onSpent;
    const limit = (subject: Subject, quota: number, keyOf: Limit['keyOf']): readonly Limit[] => {
      const bounds = { perWindow: quota, windowMs: windowS * 1_000, keysMax: RATE_LIMIT_KEYS_MAX };
      return quota === 0 ? [] : [{ subject, quota, keyOf, buckets: new TokenBuckets(clock, bounds) }];
    };
    this.#limits = [
      ...limit('device', perDevice, ({ user, client }) => (client === null ? null : JSON.stringify([user, client]))),
      ...limit('user', perUser, ({ user, client }) => (client === null ? null : user)),
      ...limit('token', perToken, ({ tokenId, client }) => (client === null ? tokenId : null)),
    ];
  }

  /** Counts a request, or returns its refusal if a limit is used up. Returns null if the caller has no limit. */
  take(bearer: Bearer): RateHeaders | Refusal | null {
    const taken = this.#limits.flatMap(({ keyOf, ...limit }) => {
      const key = keyOf(bearer);
      return key === null ? [] : [{ ...limit, key }];
    });
    for (const { subject, quota, buckets, key } of taken) {
      if (buckets.tokensOf(key) < 1) return this.#refusal(subject, quota, buckets.waitMs(key));
    }
    const states = taken.map(({ subject, quota, buckets, key }) => {
      const left = buckets.spend(key);
      if (left < quota / 2) this.#tellSpent(subject, key, quota);
      const fullInS = Math.ceil(((quota - left) * this.#windowS) / quota);
      return `"${subject}";r=${Math.floor(left)};t=${fullInS}`;
    });
    if (taken.length === 0) return null;
    const policies = taken.map(({ subject, quota }) => `"${subject}";q=${quota};w=${this.#windowS}`);
    return { policy: policies.join(', '), state: states.join(', ') };
  }

  /** Counts requests that another server has let through. */
  noteSpent({ subject, key, count }: SpentRequests): void {
    this.#limits.find((limit) => limit.subject === subject)?.buckets.spend(key, count);
  }

  #tellSpent(subject: Subject, key: string, quota: number): void {
    const count = (this.#untold.get(`${subject} ${key}`) ?? 0) + 1;
    const isTold = count >= quota * TOLD_SHARE;
    this.#untold.set(`${subject} ${key}`, isTold ? 0 : count);
    if (isTold) this.#onSpent({ subject, key, count });
  }

  #refusal(subject: Subject, quota: number, waitMs: number): Refusal {
    const waitS = Math.max(1, Math.ceil(waitMs / 1_000));
    const whose = subject === 'user' ? 'the devices of a user' : `a ${subject}`;
    const detail = `${whose} may make ${quota} requests in ${this.#windowS} seconds; try again in ${waitS} seconds`;
    return new Refusal('rate_limited', detail, [], waitS);
  }
}
