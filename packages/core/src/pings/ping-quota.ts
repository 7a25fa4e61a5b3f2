import { PING_CALLERS_MAX, Refusal } from '@tidemark/protocol';
import type { Clock } from '../ports/clock.ts';
import { BoundedMap } from '../primitives/bounded-map.ts';

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

const MINUTE_MS = 60_000;

/**
 * Limits the rate of pings of each caller by a token bucket that holds a minute's worth. The buckets are in memory, so a
 * restart fills them. Servers tell each other of the pings they let through; until that arrives, a caller who uses
 * several servers at once may send a few more.
 */
export class PingQuota {
  readonly #clock: Clock;
  readonly #perMinuteMax: number;
  readonly #buckets: BoundedMap<string, Bucket>;

  constructor(clock: Clock, perMinuteMax: number, callersMax = PING_CALLERS_MAX) {
    this.#clock = clock;
    this.#perMinuteMax = perMinuteMax;
    this.#buckets = new BoundedMap(callersMax);
  }

  /** Takes one token, or throws `rate_limited` with the time to wait. */
  take(caller: string): void {
    const tokens = this.#tokensOf(caller, this.#clock.nowMs());
    this.#keep(caller, tokens < 1 ? tokens : tokens - 1);
    if (tokens >= 1) return;
    const waitS = Math.max(1, Math.ceil(((1 - tokens) * MINUTE_MS) / this.#perMinuteMax / 1_000));
    const detail = `more than ${this.#perMinuteMax} pings in a minute; try again in ${waitS} seconds`;
    throw new Refusal('rate_limited', detail, [], waitS);
  }

  /** Takes one token for a ping that another server has let through. */
  note(caller: string): void {
    this.#keep(caller, Math.max(0, this.#tokensOf(caller, this.#clock.nowMs()) - 1));
  }

  #keep(caller: string, tokens: number): void {
    this.#buckets.set(caller, { tokens, atMs: this.#clock.nowMs() });
  }

  #tokensOf(caller: string, nowMs: number): number {
    const bucket = this.#buckets.get(caller);
    if (bucket === undefined) return this.#perMinuteMax;
    const passedMs = Math.max(0, nowMs - bucket.atMs);
    return Math.min(this.#perMinuteMax, bucket.tokens + (passedMs * this.#perMinuteMax) / MINUTE_MS);
  }
}
