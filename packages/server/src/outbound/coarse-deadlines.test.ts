import { describe, expect, it } from 'vitest';
import { CoarseDeadlines } from './coarse-deadlines.ts';

/** A single timer, since the class needs only one. */
class OneTimer {
  nowMs = 0;
  #due: { readonly atMs: number; readonly callback: () => void } | null = null;

  get isWaiting(): boolean {
    return this.#due !== null;
  }

  after(delayMs: number, callback: () => void): () => void {
    if (this.#due !== null) throw new Error('there is a timer already');
    this.#due = { atMs: this.nowMs + delayMs, callback };
    return () => {
      this.#due = null;
    };
  }

  passTo(endMs: number): void {
    for (let due = this.#due; due !== null && due.atMs <= endMs; due = this.#due) {
      this.nowMs = due.atMs;
      this.#due = null;
      due.callback();
    }
    this.nowMs = endMs;
  }
}

function bench() {
  const timers = new OneTimer();
  const late: string[] = [];
  const deadlines = new CoarseDeadlines<string>({
    timers,
    waitMs: 1_000,
    onLate: (item) => late.push(`${item} ${timers.nowMs}`),
  });
  return { timers, late, deadlines };
}

describe('deadlines that share a timer', () => {
  it('[PING-22] deadlines are noticed never early and at most a tenth late, in order', () => {
    const { timers, late, deadlines } = bench();
    deadlines.add('a');
    timers.passTo(150);
    deadlines.add('b');
    timers.passTo(190);
    deadlines.add('c');
    timers.passTo(1_099);
    expect(late).toEqual([]);
    timers.passTo(10_000);
    expect(late).toEqual(['a 1100', 'b 1200', 'c 1200']);
    expect(timers.isWaiting).toBe(false);
  });

  it('[PING-22] a deadline whose entry has ended is not noticed, and without entries there is no timer', () => {
    const { timers, late, deadlines } = bench();
    deadlines.add('a');
    deadlines.add('b');
    deadlines.delete('a');
    timers.passTo(500);
    deadlines.delete('b');
    timers.passTo(600);
    expect(timers.isWaiting).toBe(false);
    deadlines.add('c');
    deadlines.close();
    timers.passTo(10_000);
    expect([late, timers.isWaiting]).toEqual([[], false]);
  });
});
