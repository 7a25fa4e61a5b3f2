import type { Clock } from '@tidemark/core';

export interface CircuitBreakerParts {
  readonly clock: Clock;
  /** Fractions from 0 up to 1. */
  readonly dice: () => number;
  /** Failures in a row before it opens. */
  readonly failuresMax?: number;
  readonly restMs?: number;
  readonly restMsMax?: number;
}

const FAILURES_MAX = 5;
const REST_MS = 1_000;
const REST_MS_MAX = 60_000;
/** After this long the one that tries is taken for lost, and another may. */
const PROBE_MS = 30_000;
/** How often the others look what became of it. */
const LOOK_MS = 200;

/**
 * Keeps requests from a service that is down. After so many failures in a row nobody may call it for a while; then one may
 * try, and what becomes of that one decides for all. Rests double up to a maximum, and are never shorter than asked for.
 */
export class CircuitBreaker {
  readonly #parts: Required<CircuitBreakerParts>;
  /** In a row, while calls are let through. */
  #failures = 0;
  /** Since it last worked; 0: calls are let through. */
  #rests = 0;
  #restsUntilMs = 0;
  /** Somebody is trying, and has until then. */
  #probeUntilMs: number | null = null;

  constructor(parts: CircuitBreakerParts) {
    this.#parts = { failuresMax: FAILURES_MAX, restMs: REST_MS, restMsMax: REST_MS_MAX, ...parts };
  }

  get isOpen(): boolean {
    return this.#rests > 0;
  }

  /** How long to wait before calling the service; 0: now. Whoever is told 0 while it is open is the one who tries. */
  waitMs(): number {
    const nowMs = this.#parts.clock.nowMs();
    if (this.#rests === 0) return 0;
    if (nowMs < this.#restsUntilMs) return this.#restsUntilMs - nowMs;
    if (this.#probeUntilMs !== null && nowMs < this.#probeUntilMs) return LOOK_MS;
    this.#probeUntilMs = nowMs + PROBE_MS;
    return 0;
  }

  /** Whoever was to try had nothing to send. */
  giveBack(): void {
    this.#probeUntilMs = null;
  }

  /** Calls that were under way when it opened say nothing about whether it works again. */
  succeed(): void {
    this.#failures = 0;
    if (this.#probeUntilMs === null) return;
    this.#probeUntilMs = null;
    this.#rests = 0;
  }

  /** `askedMs` is how long the service wants to be left alone; null: it did not say. */
  fail(askedMs: number | null): void {
    const isProbe = this.#probeUntilMs !== null;
    if (this.#rests === 0) this.#failures++;
    const isEnough = this.#rests === 0 && this.#failures >= this.#parts.failuresMax;
    if (isProbe || isEnough || (this.#rests === 0 && askedMs !== null)) this.#open();
    if (askedMs !== null) {
      this.#restsUntilMs = Math.max(this.#restsUntilMs, this.#parts.clock.nowMs() + askedMs);
    }
  }

  /** Servers that found out together do not come back together. */
  #open(): void {
    const { clock, dice, restMs, restMsMax } = this.#parts;
    const ceilingMs = Math.min(restMsMax, restMs * 2 ** Math.min(this.#rests, REST_DOUBLINGS_MAX));
    this.#rests++;
    this.#failures = 0;
    this.#probeUntilMs = null;
    this.#restsUntilMs = clock.nowMs() + Math.ceil(ceilingMs * (0.5 + dice() / 2));
  }
}

const REST_DOUBLINGS_MAX = 16;
