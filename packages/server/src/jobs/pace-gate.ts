import type { Clock } from '@tidemark/core';
import type { JobPermit, QueueGate } from './queue-gate.ts';

export interface PaceGateParts {
  readonly clock: Clock;
  readonly perSecond: number;
  /** How many jobs may start at once after a pause. */
  readonly burst: number;
}

const MS_PER_S = 1_000;

/** Limits the jobs started per second (token bucket). */
export class PaceGate implements QueueGate {
  readonly #parts: PaceGateParts;
  #tokens: number;
  #countedAtMs: number;
  /** Shared by all jobs: a used token only comes back with time. */
  readonly #permit: JobPermit = { giveBack: () => void this.#tokens++, end: () => undefined };

  constructor(parts: PaceGateParts) {
    this.#parts = parts;
    this.#tokens = parts.burst;
    this.#countedAtMs = parts.clock.nowMs();
  }

  take(): JobPermit | number {
    const { clock, perSecond, burst } = this.#parts;
    const nowMs = clock.nowMs();
    const passedMs = Math.max(0, nowMs - this.#countedAtMs);
    this.#countedAtMs = nowMs;
    this.#tokens = Math.min(burst, this.#tokens + (passedMs * perSecond) / MS_PER_S);
    if (this.#tokens < 1) return Math.ceil(((1 - this.#tokens) * MS_PER_S) / perSecond);
    this.#tokens--;
    return this.#permit;
  }
}
