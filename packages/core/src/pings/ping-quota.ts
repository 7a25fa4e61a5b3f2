import { PING_CALLERS_MAX, Refusal } from '@tidemark/protocol';
import type { Clock } from '../ports/clock.ts';

interface Bucket {
  readonly tokens: number;
  readonly atMs: number;
}

const MINUTE_MS = 60_000;

/**
 * How many pings each caller may still send. A caller who was quiet for a minute may send a minute's worth at once;
 * after that they come back one by one. It is kept in memory: a restart forgives. Servers tell each other of the pings
 * they let through, which takes a moment: who calls many of them at once may get a few more.
 */
export class PingQuota {
  readonly #clock: Clock;
  readonly #perMinuteMax: number;
  readonly #callersMax: number;
  /** The one not heard of for longest comes first. */
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, perMinuteMax: number, callersMax = PING_CALLERS_MAX) {
    this.#clock = clock;
    this.#perMinuteMax = perMinuteMax;
    this.#callersMax = callersMax;
  }

  /** Counts one ping, or refuses it and says how long to wait. */
  take(caller: string): void {
    const tokens = this.#tokensOf(caller, this.#clock.nowMs());
    this.#keep(caller, tokens < 1 ? tokens : tokens - 1);
    if (tokens >= 1) return;
    const waitS = Math.max(1, Math.ceil(((1 - tokens) * MINUTE_MS) / this.#perMinuteMax / 1_000));
    const detail = `more than ${this.#perMinuteMax} pings in a minute; try again in ${waitS} seconds`;
    throw new Refusal('rate_limited', detail, [], waitS);
  }

  /** Counts one ping that another server has let through. */
  note(caller: string): void {
    this.#keep(caller, Math.max(0, this.#tokensOf(caller, this.#clock.nowMs()) - 1));
  }

  #keep(caller: string, tokens: number): void {
    this.#buckets.delete(caller);
    this.#buckets.set(caller, { tokens, atMs: this.#clock.nowMs() });
    this.#forgetSome();
  }

  #tokensOf(caller: string, nowMs: number): number {
    const bucket = this.#buckets.get(caller);
    if (bucket === undefined) return this.#perMinuteMax;
    const passedMs = Math.max(0, nowMs - bucket.atMs);
    return Math.min(this.#perMinuteMax, bucket.tokens + (passedMs * this.#perMinuteMax) / MINUTE_MS);
  }

  #forgetSome(): void {
    for (const caller of this.#buckets.keys()) {
      if (this.#buckets.size <= this.#callersMax) return;
      this.#buckets.delete(caller);
    }
  }
}
