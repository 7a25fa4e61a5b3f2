import { PING_CALLERS_MAX, Refusal } from '@tidemark/protocol';
import type { Clock } from '../ports/clock.ts';
import { TokenBuckets } from '../primitives/token-buckets.ts';

const MINUTE_MS = 60_000;

/**
 * Limits the rate of pings of each caller by a token bucket that holds a minute's worth. Servers tell each other of the pings they let through; until that arrives, a caller who uses
 * several servers at once may send a few more.
 */
export class PingQuota {
  readonly #perMinuteMax: number;
  readonly #buckets: TokenBuckets;

  constructor(clock: Clock, perMinuteMax: number, callersMax = PING_CALLERS_MAX) {
    this.#perMinuteMax = perMinuteMax;
    this.#buckets = new TokenBuckets(clock, { perWindow: perMinuteMax, windowMs: MINUTE_MS, keysMax: callersMax });
  }

  /** Takes one token, or throws `rate_limited` with the time to wait. */
  take(caller: string): void {
    if (this.#buckets.tokensOf(caller) >= 1) return void this.#buckets.spend(caller);
    const waitS = Math.max(1, Math.ceil(this.#buckets.waitMs(caller) / 1_000));
    const detail = `more than ${this.#perMinuteMax} pings in a minute; try again in ${waitS} seconds`;
    throw new Refusal('rate_limited', detail, [], waitS);
  }

  /** Takes one token for a ping that another server has let through. */
  note(caller: string): void {
    this.#buckets.spend(caller);
  }
}
