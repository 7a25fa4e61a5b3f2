import type { Clock, Notifier, PingOutcome } from '@tidemark/core';
import type { QueueGate } from '../jobs/queue-gate.ts';
import { CircuitBreaker } from './circuit-breaker.ts';

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
  readonly #parts: ServiceGateParts;
  readonly #breaker: CircuitBreaker;
  #tokens: number;
  #countedAtMs: number;

  constructor(parts: ServiceGateParts) {
    this.#parts = parts;
    this.#breaker = new CircuitBreaker(parts);
    this.#tokens = parts.perSecondMax;
    this.#countedAtMs = parts.clock.nowMs();
  }

  get isOpen(): boolean {
    return !this.#breaker.isOpen;
  }

  take(): number {
    const emptyMs = this.#refill();
    if (emptyMs > 0) return emptyMs;
    const downMs = this.#breaker.waitMs();
    if (downMs > 0) return downMs;
    this.#tokens--;
    return 0;
  }

  giveBack(): void {
    this.#tokens++;
    this.#breaker.giveBack();
  }

  /** The notifier, with an ear for how its service does. */
  watch(notifier: Notifier): Notifier {
    return {
      notify: async (target, ping) => {
        const outcome = await notifier.notify(target, ping);
        this.#hear(outcome);
        return outcome;
      },
    };
  }

  #hear(outcome: PingOutcome): void {
    if (outcome.status === 'failed' && outcome.isServiceDown === true) this.#breaker.fail(outcome.retryAfterMs);
    else this.#breaker.succeed();
  }

  /** How long until there is a whole token; 0: there is one. */
  #refill(): number {
    const { clock, perSecondMax } = this.#parts;
    const nowMs = clock.nowMs();
    const passedMs = Math.max(0, nowMs - this.#countedAtMs);
    this.#countedAtMs = nowMs;
    this.#tokens = Math.min(perSecondMax, this.#tokens + (passedMs * perSecondMax) / 1_000);
    return this.#tokens >= 1 ? 0 : Math.ceil(((1 - this.#tokens) * 1_000) / perSecondMax);
  }
}
