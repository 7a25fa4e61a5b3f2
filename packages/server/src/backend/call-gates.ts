import type { Clock } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { Timers } from '../jobs/timers.ts';
import {
  BACKEND_CALLS_AT_ONCE_MAX,
  BACKEND_CALLS_WAITING_MAX,
  BACKEND_WAIT_MS_MAX,
  OVERLOAD_RETRY_AFTER_S,
} from '../limits.ts';
import { type BreakerState, type BreakerView, type CallPermit, CircuitBreaker } from '../outbound/circuit-breaker.ts';
import { ConcurrencyLimit } from '../primitives/concurrency-limit.ts';
import type { BackendCall } from './backend-contract.ts';
import { unavailable } from './backend-failure.ts';

/** A kind of calls, which has its own circuit breaker and its own share of the sockets. */
export type CallKind = 'authenticate' | 'query' | 'upload' | 'search';

const KIND_OF = {
  authenticate: 'authenticate',
  query: 'query',
  create: 'upload',
  update: 'upload',
  delete: 'upload',
  search: 'search',
} as const satisfies Record<BackendCall, CallKind>;

export const CALL_KINDS: readonly CallKind[] = ['authenticate', 'query', 'upload', 'search'];

export interface CallGatesParts {
  readonly clock: Clock;
  readonly timers: Timers;
  /** Returns random fractions from 0 up to 1. */
  readonly jitter: () => number;
  readonly onBreaker: (state: BreakerState, kind: CallKind) => void;
}

/** Permission to make one call. */
export interface CallSlot {
  /** Receives the result of the call. */
  readonly permit: CallPermit;
  /** To be called when the call no longer uses a socket. */
  readonly release: () => void;
}

const MS_PER_S = 1_000;
/** After this time an unfinished probe call no longer keeps other calls away. */
const PROBE_MS_MAX = 60_000;

/**
 * Decides whether a call to the backend may be made. Each kind of call has its own circuit breaker and its own share
 * of the sockets, so that failing or hanging searches do not block logins. A call that waits too long for a socket
 * ends as `overloaded`, which does not count as a failure of the backend.
 */
export class CallGates {
  readonly #parts: CallGatesParts;
  readonly #limits: Readonly<Record<CallKind, ConcurrencyLimit>>;
  #breakers: Readonly<Record<CallKind, CircuitBreaker>>;
  /** The address that the breakers belong to. */
  #address: string | null = null;

  constructor(parts: CallGatesParts) {
    this.#parts = parts;
    this.#limits = byKind((kind) => limitOf(kind, parts.timers));
    this.#breakers = this.#newBreakers();
  }

  views(address: string | null): Readonly<Record<CallKind, BreakerView>> {
    this.#switchTo(address);
    return byKind((kind) => this.#breakers[kind].view);
  }

  /** Resolves when the call may be made. Refuses while the breaker is open, and when too many calls wait already. */
  async enter(address: string, call: BackendCall): Promise<CallSlot> {
    const kind = KIND_OF[call];
    this.#switchTo(address);
    const breaker = this.#breakers[kind];
    const { waitMs } = breaker;
    if (waitMs > 0) throw breakerOpen(waitMs);
    const release = await this.#limits[kind].acquire();
    // The breaker may have opened while the call waited.
    const permit = breaker.acquire();
    if (typeof permit !== 'number') return { permit, release };
    release();
    throw breakerOpen(permit);
  }

  /** Resets the breakers when the address changes: another address is another backend. */
  #switchTo(address: string | null): void {
    if (address === this.#address) return;
    this.#address = address;
    this.#breakers = this.#newBreakers();
  }

  #newBreakers(): Readonly<Record<CallKind, CircuitBreaker>> {
    const { clock, jitter, onBreaker } = this.#parts;
    return byKind(
      (kind) =>
        new CircuitBreaker({
          clock,
          jitter,
          probeMs: PROBE_MS_MAX,
          // A backend that sends Retry-After may mean one source or one user only.
          opensOnRetryAfter: false,
          onChange: (state) => onBreaker(state, kind),
        }),
    );
  }
}

function byKind<T>(make: (kind: CallKind) => T): Readonly<Record<CallKind, T>> {
  return Object.fromEntries(CALL_KINDS.map((kind) => [kind, make(kind)])) as Record<CallKind, T>;
}

function limitOf(kind: CallKind, timers: Timers): ConcurrencyLimit {
  const detail = `too many ${kind} calls to the backend are under way`;
  return new ConcurrencyLimit({
    atOnceMax: BACKEND_CALLS_AT_ONCE_MAX,
    waitingMax: BACKEND_CALLS_WAITING_MAX,
    refusal: () => new Refusal('overloaded', detail, [], OVERLOAD_RETRY_AFTER_S),
    wait: { msMax: BACKEND_WAIT_MS_MAX, timers },
  });
}

function breakerOpen(waitMs: number): Refusal {
  return unavailable('the backend keeps failing and is not called for a while', Math.ceil(waitMs / MS_PER_S));
}
