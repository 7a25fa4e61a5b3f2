import type { Clock } from '@tidemark/core';

export interface CircuitBreakerParts {
  readonly clock: Clock;
  /** Fractions from 0 up to 1. */
  readonly dice: () => number;
  /** Failures in a row before it opens. */
  readonly failuresMax?: number;
  readonly restMs?: number;
  readonly restMsMax?: number;
  /** After this long the one that tries is taken for lost, and another may. */
  readonly probeMs?: number;
  /**
   * Whether one failure is enough when the service asks to be left alone with it. Not where it may have meant only what
   * it was asked, and not everybody.
   */
  readonly isAskingEnough?: boolean;
  /** Hears when it opens and when it closes again. */
  readonly onChange?: (state: BreakerState) => void;
}

/** `open`: nobody calls. `trying`: one call finds out whether the others may. */
export type BreakerState = 'closed' | 'open' | 'trying';

export interface BreakerView {
  readonly state: BreakerState;
  /** Calls in a row that failed. */
  readonly failures: number;
  /** Until when nobody else calls; null while it is closed. */
  readonly untilMs: number | null;
}

/**
 * CallPermit to call the service. Whoever has it tells what became of the call, or gives it back when there was none to make;
 * nobody but the one who tries has to. What is told of a call that began before the last rest comes too late to count.
 */
export interface CallPermit {
  succeed(): void;
  /** `askedMs` is how long the service wants to be left alone; null: it did not say. */
  fail(askedMs: number | null): void;
  giveBack(): void;
}

/** Calls that must fail in a row before it opens. */
export const FAILURES_MAX = 5;
const REST_MS = 1_000;
const REST_MS_MAX = 60_000;
const PROBE_MS = 30_000;
/** How often the others look what became of it. */
const LOOK_MS = 200;

const DEFAULTS = {
  failuresMax: FAILURES_MAX,
  restMs: REST_MS,
  restMsMax: REST_MS_MAX,
  probeMs: PROBE_MS,
  isAskingEnough: true,
  onChange: () => undefined,
};

/**
 * Keeps requests from a service that is down. After so many failures in a row nobody may call it for a while; then one may
 * try, and what becomes of that one decides for all. Rests double up to a maximum, and are never shorter than asked for.
 */
export class CircuitBreaker {
  readonly #parts: Required<CircuitBreakerParts>;
  /** In a row. */
  #failures = 0;
  /** Since it last worked; 0: calls are let through. */
  #rests = 0;
  #restsUntilMs = 0;
  /** Somebody is trying, and has until then. */
  #probeUntilMs: number | null = null;
  /** Ever: tells calls from before a rest from those after it. */
  #restsEver = 0;
  #leave = this.#newLeave();

  constructor(parts: CircuitBreakerParts) {
    this.#parts = { ...DEFAULTS, ...parts };
  }

  get isOpen(): boolean {
    return this.#rests > 0;
  }

  get view(): BreakerView {
    const failures = this.#failures;
    if (!this.isOpen) return { state: 'closed', failures, untilMs: null };
    if (this.#probeUntilMs !== null) return { state: 'trying', failures, untilMs: this.#probeUntilMs };
    return { state: 'open', failures, untilMs: this.#restsUntilMs };
  }

  /** The leave that was given last: that of calls which begin now. */
  get leave(): CallPermit {
    return this.#leave;
  }

  /** How long callers have to wait before they may ask for leave, in milliseconds; 0: not at all. */
  get waitMs(): number {
    const nowMs = this.#parts.clock.nowMs();
    if (!this.isOpen) return 0;
    if (nowMs < this.#restsUntilMs) return this.#restsUntilMs - nowMs;
    return this.#probeUntilMs !== null && nowMs < this.#probeUntilMs ? LOOK_MS : 0;
  }

  /** CallPermit to call now, or how long to wait, in milliseconds. Whoever gets leave while it is open is the one who tries. */
  ask(): CallPermit | number {
    const { waitMs } = this;
    if (waitMs > 0) return waitMs;
    if (!this.isOpen) return this.#leave;
    this.#probeUntilMs = this.#parts.clock.nowMs() + this.#parts.probeMs;
    this.#leave = this.#newLeave();
    return this.#leave;
  }

  #newLeave(): CallPermit {
    const given = this.#restsEver;
    const leave: CallPermit = {
      succeed: () => this.#succeed(given),
      fail: (askedMs) => this.#fail(given, askedMs),
      giveBack: () => this.#giveBack(leave),
    };
    return leave;
  }

  /** Somebody else may be trying by now, whose leave is another one. */
  #giveBack(leave: CallPermit): void {
    if (leave === this.#leave) this.#probeUntilMs = null;
  }

  #succeed(given: number): void {
    if (given !== this.#restsEver) return;
    const wasOpen = this.isOpen;
    this.#failures = 0;
    this.#probeUntilMs = null;
    this.#rests = 0;
    if (wasOpen) this.#parts.onChange('closed');
  }

  #fail(given: number, askedMs: number | null): void {
    const { clock, failuresMax, isAskingEnough } = this.#parts;
    if (given === this.#restsEver) {
      this.#failures++;
      const isEnough = this.#failures >= failuresMax || (isAskingEnough && askedMs !== null);
      if (this.isOpen || isEnough) this.#open();
    }
    if (askedMs !== null && this.isOpen) {
      this.#restsUntilMs = Math.max(this.#restsUntilMs, clock.nowMs() + askedMs);
    }
  }

  /** Servers that found out together do not come back together. */
  #open(): void {
    const { clock, dice, restMs, restMsMax, onChange } = this.#parts;
    const isNew = !this.isOpen;
    const ceilingMs = Math.min(restMsMax, restMs * 2 ** Math.min(this.#rests, REST_DOUBLINGS_MAX));
    this.#rests++;
    this.#restsEver++;
    this.#probeUntilMs = null;
    this.#restsUntilMs = clock.nowMs() + Math.ceil(ceilingMs * (0.5 + dice() / 2));
    if (isNew) onChange('open');
  }
}

const REST_DOUBLINGS_MAX = 16;
