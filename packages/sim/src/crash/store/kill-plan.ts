import type { Rng } from '@tidemark/testing/kit';
import type { KillPlan } from '../../processes/run-worker.ts';
import type { Line } from './line.ts';
import { isBatch } from './operation.ts';

/**
 * When the worker is killed. `new_folder` and `opening`: while it opens the store, in a new folder or in the old one;
 * `batch`: after it began a large write; `busy`: after it finished some operations.
 */
export interface StoreKillPlan extends KillPlan<Line> {
  readonly kind: 'new_folder' | 'opening' | 'batch' | 'busy';
  /** Of a hundred operations on objects, how many are batches. */
  readonly batchPercent: number;
}

/** The kinds of consecutive rounds. The first round needs a store that exists for a while. */
const KINDS: readonly StoreKillPlan['kind'][] = [
  'busy',
  'batch',
  'new_folder',
  'batch',
  'opening',
  'busy',
  'batch',
  'new_folder',
];

export function drawKillPlan(rng: Rng, round: number): StoreKillPlan {
  const kind = KINDS[round % KINDS.length] ?? 'busy';
  const isCounted = (line: Line) => isOfKind(kind, line);
  switch (kind) {
    case 'new_folder':
      return { kind, isCounted, count: 1, delayMs: rng.between(0, 60), batchPercent: 3 };
    case 'opening':
      return { kind, isCounted, count: 1, delayMs: rng.between(0, 150), batchPercent: 3 };
    case 'batch':
      return { kind, isCounted, count: rng.between(1, 2), delayMs: rng.between(0, 80), batchPercent: 15 };
    case 'busy':
      return { kind, isCounted, count: drawCount(rng), delayMs: rng.between(0, 3), batchPercent: 1 };
  }
}

/** Mostly early kills, so that there are many rounds. */
function drawCount(rng: Rng): number {
  return rng.chance(20) ? rng.between(100, 600) : rng.between(1, 100);
}

function isOfKind(kind: StoreKillPlan['kind'], line: Line): boolean {
  switch (kind) {
    case 'new_folder':
    case 'opening':
      return line.say === 'opening';
    case 'batch':
      return line.say === 'begin' && isBatch(line.operation);
    case 'busy':
      return line.say === 'done';
  }
}
