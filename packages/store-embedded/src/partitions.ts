import type { EarlierEpoch, PartitionKey, PartitionState } from '@tidemark/core/ports';
import { storeEpoch } from './facts.ts';
import { keyOf, lookUp, textsOf } from './keys.ts';
import type { Tables } from './tables.ts';

/** A partition as it is kept. `number` stands for its name in all other keys. */
export interface KeptPartition {
  readonly number: number;
  readonly word: string;
  readonly head: number;
  readonly floor: number;
  readonly size: number;
  readonly checksum: number;
  readonly tombstones: number;
  /** Bytes of the records of live objects. Absent: nobody has counted them yet; the next commit does. */
  readonly bytes?: number;
  /** Of a partition that came from another engine, which had them. */
  readonly earlier?: readonly EarlierEpoch[];
}

/** Users' partitions stand together, so that a user can be erased without looking at others. */
export function partitionName(key: PartitionKey): Buffer {
  return keyOf(...partitionParts(key));
}

/** The texts its name consists of. */
export function partitionParts({ source, user }: PartitionKey): readonly string[] {
  return user === null ? ['shared', source] : ['user', user, source];
}

export function partitionKeyOf(name: Uint8Array): PartitionKey {
  const [kind, first = '', second = ''] = textsOf(name);
  return kind === 'shared' ? { source: first, user: null } : { source: second, user: first };
}

export function keptPartition(tables: Tables, key: PartitionKey): KeptPartition | null {
  const text = tables.partitions.get(lookUp(...partitionParts(key)));
  return text === undefined ? null : readPartition(text);
}

/** Partitions are looked at far more often than they change: what a text says is found out once. */
const TEXTS_READ_MAX = 10_000;
const textsRead = new Map<string, KeptPartition>();

function readPartition(text: string): KeptPartition {
  const known = textsRead.get(text);
  if (known !== undefined) return known;
  const kept = JSON.parse(text) as KeptPartition;
  if (textsRead.size >= TEXTS_READ_MAX) textsRead.clear();
  textsRead.set(text, kept);
  return kept;
}

export function stateOf(tables: Tables, kept: KeptPartition | null): PartitionState {
  const epoch = storeEpoch(tables);
  if (kept === null) return { epoch, head: 0, floor: 0, size: 0, checksum: 0 };
  const { head, floor, size, checksum, earlier } = kept;
  const state = { epoch: epoch + kept.word, head, floor, size, checksum };
  return earlier === undefined ? state : { ...state, earlier };
}

export function listPartitions(
  tables: Tables,
  after: PartitionKey | undefined,
  limit: number,
): readonly PartitionKey[] {
  const start = after === undefined ? undefined : partitionName(after);
  const keys = tables.partitions.getKeys({ ...(start === undefined ? {} : { start, exclusiveStart: true }), limit });
  return [...keys].map(partitionKeyOf);
}
