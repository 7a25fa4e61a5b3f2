import type { Dice } from '@tidemark/testing/kit';
import type { Line } from './line.ts';
import { isBatch } from './operation.ts';

/**
 * When a worker is killed: `delayMs` after it has said something for the `count`-th time. `newborn` and `opening`: that
 * it opens the store, in a new folder or in the old one; `batch`: that it begins a large write; `busy`: that something
 * is done.
 */
export interface KillPlan {
  readonly kind: 'newborn' | 'opening' | 'batch' | 'busy';
  readonly count: number;
  readonly delayMs: number;
  /** Of a hundred operations on objects, how many are batches. */
  readonly batchPercent: number;
}

/** Every kind comes up in every so many rounds; the first round needs a store that lives for a while. */
const KINDS: readonly KillPlan['kind'][] = ['busy', 'batch', 'newborn', 'batch', 'opening', 'busy', 'batch', 'newborn'];

export function drawKillPlan(dice: Dice, round: number): KillPlan {
  const kind = KINDS[round % KINDS.length] ?? 'busy';
  switch (kind) {
    case 'newborn':
      return { kind, count: 1, delayMs: dice.between(0, 60), batchPercent: 3 };
    case 'opening':
      return { kind, count: 1, delayMs: dice.between(0, 150), batchPercent: 3 };
    case 'batch':
      return { kind, count: dice.between(1, 2), delayMs: dice.between(0, 80), batchPercent: 15 };
    case 'busy':
      return { kind, count: drawPatience(dice), delayMs: dice.between(0, 3), batchPercent: 1 };
  }
}

/** Mostly short lives, so that there are many of them. */
function drawPatience(dice: Dice): number {
  return dice.chance(20) ? dice.between(100, 600) : dice.between(1, 100);
}

/** Whether a line is one of those the plan counts. */
export function isAwaited({ kind }: KillPlan, line: Line): boolean {
  switch (kind) {
    case 'newborn':
    case 'opening':
      return line.say === 'opening';
    case 'batch':
      return line.say === 'begin' && isBatch(line.operation);
    case 'busy':
      return line.say === 'done';
  }
}
