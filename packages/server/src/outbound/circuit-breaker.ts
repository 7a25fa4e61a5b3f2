import type { Clock } from '@tidemark/core';

export interface CircuitBreakerParts {
  readonly clock: Clock;
  /** Returns random fractions from 0 up to 1. */
  readonly jitter: () => number;
  /** Consecutive failures that open the breaker. */
  readonly failuresMax?: number;
  readonly pauseMs?: number;
  readonly pauseMsMax?: number;
  /** After this time an unfinished probe is given up, and another call may probe. */
  readonly probeMs?: number;
  /**
   * True if one failure with Retry-After opens the breaker. False where Retry-After may concern only the one request.
   */
  readonly opensOnRetryAfter?: boolean;
  /** Called when the breaker opens and when it closes. */
  readonly onChange?: (state: BreakerState) => void;
}

/** `open`: no call is made. `trying`: one probe call is under way (half-open). */
export type BreakerState = 'closed' | 'open' | 'trying';

export interface BreakerView {
  readonly state: BreakerState;
  /** Consecutive failed calls. */
  readonly failures: number;
  /** The end of the pause; null while the breaker is closed. */
  readonly untilMs: number | null;
}

/**
 * Permission for one call. The holder reports the result, or gives the permit back if it made no call; only a probe
 * must do so. Results of calls that began before the last pause are ignored.
 */
export interface CallPermit {
  succeed(): void;
  /** `askedMs` is the Retry-After of the service; null if it sent none. */
  fail(askedMs: number | null): void;
  giveBack(): void;
}

/** Calls that must fail in a row before it opens. */
export const FAILURES_MAX = 5;
const PAUSE_MS = 1_000;
const PAUSE_MS_MAX = 60_000;
const PROBE_MS = 30_000;
/** How often waiting callers check for the result of a probe. */
const RECHECK_MS = 200;

const DEFAULTS = {
  failuresMax: FAILURES_MAX,
  pauseMs: PAUSE_MS,
  pauseMsMax: PAUSE_MS_MAX,
  probeMs: PROBE_MS,
  opensOnRetryAfter: true,
  onChange: () => undefined,
};

/**
 * Keeps calls away from a service that is down. After a number of consecutive failures it opens for a pause; then one
 * probe call decides whether it closes. Pauses double up to a maximum and are never shorter than the service asked
 * for.
 */
export class CircuitBreaker {
  readonly #parts: Required<CircuitBreakerParts>;
  /** Consecutive failures. */
  #failures = 0;
  /** Pauses since the last success; 0 means that the breaker is closed. */
  #pauses = 0;
  #pausedUntilMs = 0;
  /** The deadline of the probe under way, or null. */
  #probeUntilMs: number | null = null;
  /** All pauses so far: tells calls from before a pause from those after it. */
  #pausesEver = 0;
  #permit = this.#newPermit();

  constructor(parts: CircuitBreakerParts) {
    this.#parts = { ...DEFAULTS, ...parts };
  }

  get isOpen(): boolean {
    return this.#pauses > 0;
  }

  get view(): BreakerView {
    const failures = this.#failures;
    if (!this.isOpen) return { state: 'closed', failures, untilMs: null };
    if (this.#probeUntilMs !== null) return { state: 'trying', failures, untilMs: this.#probeUntilMs };
    return { state: 'open', failures, untilMs: this.#pausedUntilMs };
  }

  /** The current permit, for calls that begin now. */
  get permit(): CallPermit {
    return this.#permit;
  }

  /** How long callers have to wait before they may call, in milliseconds. */
  get waitMs(): number {
    const nowMs = this.#parts.clock.nowMs();
    if (!this.isOpen) return 0;
    if (nowMs < this.#pausedUntilMs) return this.#pausedUntilMs - nowMs;
    return this.#probeUntilMs !== null && nowMs < this.#probeUntilMs ? RECHECK_MS : 0;
  }

  /** Returns a permit, or how long to wait in milliseconds. A permit from an open breaker is the probe. */
  acquire(): CallPermit | number {
    const { waitMs } = this;
    if (waitMs > 0) return waitMs;
    if (!this.isOpen) return this.#permit;
    this.#probeUntilMs = this.#parts.clock.nowMs() + this.#parts.probeMs;
    this.#permit = this.#newPermit();
    return this.#permit;
  }

  #newPermit(): CallPermit {
    const given = this.#pausesEver;
    const permit: CallPermit = {
      succeed: () => this.#succeed(given),
      fail: (askedMs) => this.#fail(given, askedMs),
      giveBack: () => this.#giveBack(permit),
    };
    return permit;
  }

  /** Ignores a permit that is not the current one: another probe may be under way. */
  #giveBack(permit: CallPermit): void {
    if (permit === this.#permit) this.#probeUntilMs = null;
  }

  #succeed(given: number): void {
    if (given !== this.#pausesEver) return;
    const wasOpen = this.isOpen;
    this.#failures = 0;
    this.#probeUntilMs = null;
    this.#pauses = 0;
    if (wasOpen) this.#parts.onChange('closed');
  }

  #fail(given: number, askedMs: number | null): void {
    const { clock, failuresMax, opensOnRetryAfter } = this.#parts;
    if (given === this.#pausesEver) {
      this.#failures++;
      const isEnough = this.#failures >= failuresMax || (opensOnRetryAfter && askedMs !== null);
      if (this.isOpen || isEnough) this.#open();
    }
    if (askedMs !== null && this.isOpen) {
      this.#pausedUntilMs = Math.max(this.#pausedUntilMs, clock.nowMs() + askedMs);
    }
  }

  /** Adds jitter, so that servers that opened together do not probe together. */
  #open(): void {
    const { clock, jitter, pauseMs, pauseMsMax, onChange } = this.#parts;
    const isNew = !this.isOpen;
    const ceilingMs = Math.min(pauseMsMax, pauseMs * 2 ** Math.min(this.#pauses, PAUSE_DOUBLINGS_MAX));
    this.#pauses++;
    this.#pausesEver++;
    this.#probeUntilMs = null;
    this.#pausedUntilMs = clock.nowMs() + Math.ceil(ceilingMs * (0.5 + jitter() / 2));
    if (isNew) onChange('open');
  }
}

const PAUSE_DOUBLINGS_MAX = 16;
