import { acknowledgedSeq } from '@tidemark/core/ports';
import { keyOf, NUMBER_BYTES, textEnd, textsOf } from './keys.ts';
import { removeRange, type Tables } from './tables.ts';
import type { TidemarkRow } from './tidemark-row.ts';

// An index over the tidemarks of a partition by what they acknowledge. LMDB cannot count a range without walking it, so
// the number of all tidemarks of an epoch is kept, and only those below a seq are walked.

export function acknowledgedKey(partition: number, row: Pick<TidemarkRow, 'epochName' | 'base' | 'client'>): Buffer {
  return keyOf(partition, row.epochName, acknowledgedSeq(row), row.client);
}

export function clientIn(key: Uint8Array): string {
  return textsOf(key, clientAt(key))[0] ?? '';
}

function clientAt(key: Uint8Array): number {
  return textEnd(key, NUMBER_BYTES) + NUMBER_BYTES;
}

/** Orders keys of a partition by client. */
export function sortedByClient(keys: Iterable<Uint8Array>): readonly Uint8Array[] {
  const withClients = [...keys].map((key) => ({ key, client: key.subarray(clientAt(key)) }));
  return withClients.sort((left, right) => Buffer.compare(left.client, right.client)).map(({ key }) => key);
}

// Writing: these run in the writer's transaction

/** Moves a client in the index from its tidemark before to the one after. Null: there is none. */
export function indexAcknowledged(
  tables: Tables,
  partition: number,
  before: TidemarkRow | null,
  after: TidemarkRow | null,
): void {
  if (before !== null) tables.acknowledged.remove(acknowledgedKey(partition, before));
  if (after !== null) tables.acknowledged.put(acknowledgedKey(partition, after), '');
  if (before?.epochName === after?.epochName) return;
  if (before !== null) addToCount(tables, partition, before.epochName, -1);
  if (after !== null) addToCount(tables, partition, after.epochName, 1);
}

function addToCount(tables: Tables, partition: number, epochName: string, by: number): void {
  const key = keyOf(partition, epochName);
  const count = Number(tables.acknowledgedCounts.get(key) ?? '0') + by;
  if (count > 0) tables.acknowledgedCounts.put(key, String(count));
  else tables.acknowledgedCounts.remove(key);
}

export function removeAcknowledgedOn(tables: Tables, partition: number): void {
  const range = [keyOf(partition), keyOf(partition + 1)] as const;
  removeRange(tables.acknowledged, ...range);
  removeRange(tables.acknowledgedCounts, ...range);
}
