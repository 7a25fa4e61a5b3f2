import { randomBytes } from 'node:crypto';
import type { Tables } from './tables.ts';

/** What reset empties and what it does not is decided by who keeps it here. */
export type Counter = 'partition' | 'document' | 'entry_version' | 'job' | 'lease';

export function storeEpoch(tables: Tables): string {
  const epoch = tables.facts.get('epoch');
  if (epoch === undefined) throw new Error('the store has no epoch');
  return epoch;
}

/** Begins a new life. Runs in the writer's transaction. */
export function newEpoch(tables: Tables): string {
  const epoch = randomBytes(8).toString('base64url');
  tables.facts.put('epoch', epoch);
  return epoch;
}

/** Never the same number twice, not even across a reset. Runs in the writer's transaction. */
export function nextNumber(tables: Tables, counter: Counter): number {
  return nextNumbers(tables, counter, 1);
}

export function lastNumber(tables: Tables, counter: Counter): number {
  return Number(tables.facts.get(counter) ?? '0');
}

/** Numbers given from now on are above this one. */
export function raiseNumber(tables: Tables, counter: Counter, atLeast: number): void {
  if (lastNumber(tables, counter) < atLeast) tables.facts.put(counter, String(atLeast));
}

/** The first of so many numbers in a row. */
export function nextNumbers(tables: Tables, counter: Counter, count: number): number {
  const last = Number(tables.facts.get(counter) ?? '0');
  tables.facts.put(counter, String(last + count));
  return last + 1;
}
