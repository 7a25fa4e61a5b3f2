import type { Clock, Notifier, PingOutcome } from '@tidemark/core';
import { PaceGate } from '../../jobs/pace-gate.ts';
import { combinedPermit, type JobPermit, type QueueGate } from '../../jobs/queue-gate.ts';
import { type CallPermit, CircuitBreaker } from '../../outbound/circuit-breaker.ts';

export interface ServiceGateParts {
  readonly clock: Clock;
  readonly jitter: () => number;
  /** Pings per second. */
  readonly perSecondMax: number;
}

/**
 * Limits the rate of one push service and stops calls while it is down. The gate is in front of the queue and not of
 * the request, so that pings wait in the store and use up no attempts.
 */
export class ServiceGate implements QueueGate {
  readonly #pace: PaceGate;
  readonly #breaker: CircuitBreaker;

  constructor(parts: ServiceGateParts) {
    const { clock, perSecondMax } = parts;
    this.#pace = new PaceGate({ clock, perSecond: perSecondMax, burst: perSecondMax });
    this.#breaker = new CircuitBreaker(parts);
  }

  get isOpen(): boolean {
    return !this.#breaker.isOpen;
  }

  take(): JobPermit | number {
    const slot = this.#pace.take();
    if (typeof slot === 'number') return slot;
    const permit = this.#breaker.acquire();
    if (typeof permit !== 'number') return combinedPermit(slot, jobPermit(permit));
    slot.giveBack();
    return permit;
  }

  /** Wraps a notifier so that its results are reported to the breaker. */
  watch(notifier: Notifier): Notifier {
    return {
      notify: (target, ping) => {
        // While the breaker is half-open only one job is admitted, so the next call is the probe.
        const { permit } = this.#breaker;
        return notifier.notify(target, ping).then((outcome) => report(permit, outcome));
      },
    };
  }
}

/** A job may end without a call, if its device is gone or connected. Then another job must be the probe. */
function jobPermit(permit: CallPermit): JobPermit {
  return { giveBack: permit.giveBack, end: permit.giveBack };
}

function report(permit: CallPermit, outcome: PingOutcome): PingOutcome {
  if (outcome.status === 'failed' && outcome.isServiceDown === true) permit.fail(outcome.retryAfterMs);
  else permit.succeed();
  return outcome;
}
