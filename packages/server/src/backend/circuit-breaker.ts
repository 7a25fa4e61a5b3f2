import type { Clock } from '@tidemark/core';

export interface CircuitBreakerParts {
  readonly clock: Clock;
  /** Fractions from 0 up to 1. */
  readonly dice: () => number;
  /** Hears when it opens and when it closes again. */
  readonly onChange?: (state: BreakerState) => void;
}

/** `open`: nobody calls. `trying`: one call finds out whether the others may. */
export type BreakerState = 'closed' | 'open' | 'trying';

export interface BreakerView {
  readonly state: BreakerState;
  /** Calls in a row that failed. */
  readonly failures: number;
  /** Until when nobody calls; null while it is closed. */
  readonly untilMs: number | null;
}

/** Calls that must fail in a row before it opens. */
export const FAILURES_MAX = 5;
const REST_MS = 1_000;
const REST_MS_MAX = 60_000;
/** A call that was to find out and never came back does not keep the others away for longer. */
const TRY_MS_MAX = 60_000;

/**
 * Leaves a backend alone that is down. After so many failures in a row nobody calls it for a while; then one call may
 * try, and what becomes of it decides for all. Rests double up to a maximum and are never shorter than asked for.
 */
export class CircuitBreaker {
  readonly #parts: CircuitBreakerParts;
  #state: BreakerState = 'closed';
  #failures = 0;
  #rests = 0;
  #untilMs = 0;

  constructor(parts: CircuitBreakerParts) {
    this.#parts = parts;
  }

  get view(): BreakerView {
    const untilMs = this.#state === 'closed' ? null : this.#untilMs;
    return { state: this.#state, failures: this.#failures, untilMs };
  }

  /** How long to wait before calling; 0: now. */
  waitMs(): number {
    if (this.#state === 'closed') return 0;
    const nowMs = this.#parts.clock.nowMs();
    if (nowMs < this.#untilMs) return this.#untilMs - nowMs;
    this.#state = 'trying';
    this.#untilMs = nowMs + TRY_MS_MAX;
    return 0;
  }

  succeed(): void {
    const wasClosed = this.#state === 'closed';
    this.#state = 'closed';
    this.#failures = 0;
    this.#rests = 0;
    if (!wasClosed) this.#parts.onChange?.('closed');
  }

  /** `askedMs` is how long the backend wants to be left alone. */
  fail(askedMs: number | null = null): void {
    this.#failures++;
    // Calls that were under way when it opened say nothing new.
    if (this.#state === 'open' || (this.#state === 'closed' && this.#failures < FAILURES_MAX)) return;
    const { clock, dice, onChange } = this.#parts;
    const ceilingMs = Math.min(REST_MS_MAX, REST_MS * 2 ** Math.min(this.#rests, 16));
    // Servers that found out together do not come back together.
    const restMs = Math.ceil(ceilingMs * (0.5 + dice() / 2));
    const isNew = this.#state === 'closed';
    this.#state = 'open';
    this.#rests++;
    this.#untilMs = clock.nowMs() + Math.max(restMs, askedMs ?? 0);
    if (isNew) onChange?.('open');
  }
}
