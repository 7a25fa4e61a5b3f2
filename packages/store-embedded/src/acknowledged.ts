import {
  type AcknowledgedCount,
  type AcknowledgedList,
  type AcknowledgedRange,
  acknowledgedSeq,
  type DeviceTidemark,
  type NoteStore,
  type PartitionKey,
} from '@tidemark/core/ports';
import type { EngineContext } from './engine-context.ts';
import { keyOf } from './keys.ts';
import { readPartition } from './partitions.ts';
import type { Tables } from './tables.ts';
import { epochName } from './tidemark-row.ts';
import { readListed } from './tidemarks.ts';

export function acknowledged({ read }: EngineContext): Pick<NoteStore, 'countAcknowledged' | 'listAcknowledged'> {
  return {
    countAcknowledged: async (key, range) => countAcknowledged(read(), key, range),
    listAcknowledged: async (key, list) => listAcknowledged(read(), key, list),
  };
}

function countAcknowledged(tables: Tables, key: PartitionKey, { epoch, below }: AcknowledgedRange): AcknowledgedCount {
  const partition = readPartition(tables, key);
  if (partition === null) return { devices: 0, below: 0 };
  const { number } = partition;
  const name = epochName(tables, partition, epoch);
  return {
    devices: Number(tables.acknowledgedCounts.get(keyOf(number, name)) ?? '0'),
    below: tables.acknowledged.getKeysCount({ start: keyOf(number, name, 0), end: keyOf(number, name, below) }),
  };
}

function listAcknowledged(
  tables: Tables,
  key: PartitionKey,
  { epoch, below, after, limit }: AcknowledgedList,
): readonly DeviceTidemark[] {
  const partition = readPartition(tables, key);
  if (partition === null) return [];
  const { number } = partition;
  const name = epochName(tables, partition, epoch);
  const from =
    after === undefined
      ? { start: keyOf(number, name, 0) }
      : { start: keyOf(number, name, acknowledgedSeq(after), after.client), exclusiveStart: true };
  const found = tables.acknowledged.getKeys({ ...from, end: keyOf(number, name, below), limit });
  return [...readListed(tables, partition, found)];
}
