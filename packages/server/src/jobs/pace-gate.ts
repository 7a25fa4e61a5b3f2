import type { Clock } from '@tidemark/core';
import type { JobPermit, QueueGate } from './queue-gate.ts';

export interface PaceGateParts {
  readonly clock: Clock;
  readonly perSecond: number;
  /** How many may begin at once after a while without any. */
  readonly burst: number;
}

const MS_PER_S = 1_000;

/** Lets so many begin in a second, and no more. */
export class PaceGate implements QueueGate {
  readonly #parts: PaceGateParts;
  #places: number;
  #countedAtMs: number;
  /** The same for everybody: a place that was used does not come back but with time. */
  readonly #place: JobPermit = { giveBack: () => void this.#places++, end: () => undefined };

  constructor(parts: PaceGateParts) {
    this.#parts = parts;
    this.#places = parts.burst;
    this.#countedAtMs = parts.clock.nowMs();
  }

  take(): JobPermit | number {
    const { clock, perSecond, burst } = this.#parts;
    const nowMs = clock.nowMs();
    const passedMs = Math.max(0, nowMs - this.#countedAtMs);
    this.#countedAtMs = nowMs;
    this.#places = Math.min(burst, this.#places + (passedMs * perSecond) / MS_PER_S);
    if (this.#places < 1) return Math.ceil(((1 - this.#places) * MS_PER_S) / perSecond);
    this.#places--;
    return this.#place;
  }
}
