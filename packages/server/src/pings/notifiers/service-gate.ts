import type { Clock, Notifier, PingOutcome } from '@tidemark/core';
import { PaceGate } from '../../jobs/pace-gate.ts';
import { combinedPermit, type JobPermit, type QueueGate } from '../../jobs/queue-gate.ts';
import { type CallPermit, CircuitBreaker } from '../../outbound/circuit-breaker.ts';

export interface ServiceGateParts {
  readonly clock: Clock;
  readonly dice: () => number;
  /** Pings that may leave in a second. */
  readonly perSecondMax: number;
}

/**
 * The pace at which one push service is called: no faster than allowed, and not at all while it is down. It stands before
 * the queue rather than before the request, so that what has to wait waits in the store and uses up no attempt.
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
    const place = this.#pace.take();
    if (typeof place === 'number') return place;
    const leave = this.#breaker.ask();
    if (typeof leave !== 'number') return combinedPermit(place, placeOf(leave));
    place.giveBack();
    return leave;
  }

  /** The notifier, with an ear for how its service does. */
  watch(notifier: Notifier): Notifier {
    return {
      notify: (target, ping) => {
        // Only one job is let through while the service is tried, so a call that begins then is the one that tries.
        const { leave } = this.#breaker;
        return notifier.notify(target, ping).then((outcome) => hear(leave, outcome));
      },
    };
  }
}

/** A job may end without a call: its device is gone or connected, or it was cut short. Then another one has to try. */
function placeOf(leave: CallPermit): JobPermit {
  return { giveBack: leave.giveBack, end: leave.giveBack };
}

function hear(leave: CallPermit, outcome: PingOutcome): PingOutcome {
  if (outcome.status === 'failed' && outcome.isServiceDown === true) leave.fail(outcome.retryAfterMs);
  else leave.succeed();
  return outcome;
}
