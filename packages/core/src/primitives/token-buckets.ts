import type { Clock } from '../ports/clock.ts';
import { BoundedMap } from './bounded-map.ts';

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

export interface TokenBucketBounds {
  /** What a bucket holds, and what flows into it within the window. */
  readonly perWindow: number;
  readonly windowMs: number;
  /** Buckets in memory; the one used longest ago is evicted, which fills it. */
  readonly keysMax: number;
}

/** Token buckets by key. They are in memory, so a restart fills them. */
export class TokenBuckets {
  readonly #clock: Clock;
  readonly #bounds: TokenBucketBounds;
  readonly #buckets: BoundedMap<string, Bucket>;

  constructor(clock: Clock, bounds: TokenBucketBounds) {
    this.#clock = clock;
    this.#bounds = bounds;
    this.#buckets = new BoundedMap(bounds.keysMax);
  }

  /** What is in the bucket; a clock that is set back takes nothing out of it. */
  tokensOf(key: string): number {
    const { perWindow, windowMs } = this.#bounds;
    const bucket = this.#buckets.get(key);
    if (bucket === undefined) return perWindow;
    const passedMs = Math.max(0, this.#clock.nowMs() - bucket.atMs);
    return Math.min(perWindow, bucket.tokens + (passedMs * perWindow) / windowMs);
  }

  /** How long until the bucket holds one token. Asking counts as use, so that a caller who must wait is not evicted. */
  waitMs(key: string): number {
    const { perWindow, windowMs } = this.#bounds;
    return (Math.max(0, 1 - this.spend(key, 0)) * windowMs) / perWindow;
  }

  /** Takes tokens out, but no more than there are. Returns what is left. */
  spend(key: string, count = 1): number {
    const left = Math.max(0, this.tokensOf(key) - count);
    this.#buckets.set(key, { tokens: left, atMs: this.#clock.nowMs() });
    return left;
  }
}
