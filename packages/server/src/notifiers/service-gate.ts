import type { Clock, Notifier, PingOutcome } from '@tidemark/core';
import { PaceGate } from '../jobs/pace-gate.ts';
import type { QueueGate } from '../jobs/queue-gate.ts';
import { CircuitBreaker } from '../outbound/circuit-breaker.ts';

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

  take(): number {
    const earlyMs = this.#pace.take();
    if (earlyMs > 0) return earlyMs;
    const downMs = this.#breaker.waitMs();
    if (downMs > 0) this.#pace.giveBack();
    return downMs;
  }

  giveBack(): void {
    this.#pace.giveBack();
    this.#breaker.giveBack();
  }

  /** The notifier, with an ear for how its service does. */
  watch(notifier: Notifier): Notifier {
    return {
      notify: (target, ping) => notifier.notify(target, ping).then(this.#hear),
    };
  }

  readonly #hear = (outcome: PingOutcome): PingOutcome => {
    if (outcome.status === 'failed' && outcome.isServiceDown === true) this.#breaker.fail(outcome.retryAfterMs);
    else this.#breaker.succeed();
    return outcome;
  };
}
