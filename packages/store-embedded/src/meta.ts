import { randomBytes } from 'node:crypto';
import type { Tables } from './tables.ts';

// The table `meta`: the epoch of the store, and counters that go on across a reset.

type Counter = 'change' | 'partition' | 'document' | 'entry_version' | 'job' | 'lease';

export function storeEpoch(tables: Tables): string {
  const epoch = tables.meta.get('epoch');
  if (epoch === undefined) throw new Error('the store has no epoch');
  return epoch;
}

/**
 * All epochs of the store since it was empty; the last one is the present. Tidemarks name them by their place here. A
 * store of format 4 has no list.
 */
export function storeEpochs(tables: Tables): readonly string[] {
  const text = tables.meta.get('epochs');
  return text === undefined ? [storeEpoch(tables)] : parseEpochs(text);
}

/** The list is read with every tidemark, and changes only when a backup is opened. */
let parsed: { readonly text: string; readonly epochs: readonly string[] } = { text: '[]', epochs: [] };

function parseEpochs(text: string): readonly string[] {
  if (parsed.text !== text) parsed = { text, epochs: JSON.parse(text) as readonly string[] };
  return parsed.epochs;
}

/** Distinguishes the order of changes in this file from that of any other store. */
export function changesId(tables: Tables): string {
  return tables.meta.get('changes_id') ?? '';
}

export function lastNumber(tables: Tables, counter: Counter): number {
  return Number(tables.meta.get(counter) ?? '0');
}

// Writing: these run in the writer's transaction

export function newId(): string {
  return randomBytes(8).toString('base64url');
}

/** Sets the epoch of an empty store. */
export function setEpoch(tables: Tables, epoch: string): string {
  tables.meta.put('epoch', epoch);
  writeEpochs(tables, [epoch]);
  return epoch;
}

/** Begins another epoch in a store with data. */
export function addEpoch(tables: Tables, epoch: string): void {
  writeEpochs(tables, [...storeEpochs(tables), epoch]);
  tables.meta.put('epoch', epoch);
}

export function writeEpochs(tables: Tables, epochs: readonly string[]): void {
  tables.meta.put('epochs', JSON.stringify(epochs));
}

/** Returns a number that was never given before. */
export function nextNumber(tables: Tables, counter: Counter): number {
  return nextNumbers(tables, counter, 1);
}

/** Returns the first of `count` consecutive numbers that were never given before. */
export function nextNumbers(tables: Tables, counter: Counter, count: number): number {
  const last = lastNumber(tables, counter);
  tables.meta.put(counter, String(last + count));
  return last + 1;
}

/** Makes all numbers given from now on higher than `atLeast`. */
export function raiseNumber(tables: Tables, counter: Counter, atLeast: number): void {
  if (lastNumber(tables, counter) < atLeast) tables.meta.put(counter, String(atLeast));
}
