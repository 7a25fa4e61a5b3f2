import { memorySubject } from './engines.ts';
import { drawHistory } from './history.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { findFailure, type SimulationFailure } from './simulate.ts';

export interface Catch {
  /** How many histories it took. */
  readonly histories: number;
  readonly failure: SimulationFailure;
}

/**
 * Tries histories until one of them shows the planted bug: it breaks the rule that the bug must break, and the
 * server without the bug survives it. Null: not one of them does.
 */
export async function hunt(bug: PlantedBug, seeds: Iterable<number>): Promise<Catch | null> {
  let histories = 0;
  for (const seed of seeds) {
    histories++;
    const history = drawHistory(seed);
    const failure = await findFailure(history, bug.makeSubject, 'memory');
    if (failure === null || failure.rule !== bug.breaks) continue;
    if ((await findFailure(history, memorySubject(), 'memory')) === null) return { histories, failure };
  }
  return null;
}
