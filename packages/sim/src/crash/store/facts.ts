import type { DeviceTidemark, DocumentKey } from '@tidemark/core';
import { canonicalJson, type JsonValue } from '@tidemark/protocol';
import type { ModelPartition } from '../../model/partition.ts';

/**
 * The content of a store as a plain map from a key to a text. The model and what is found in a store both have this form,
 * so comparing them is comparing two maps.
 */
export type Facts = ReadonlyMap<string, string>;

/** The facts that an operation changes; null: it deletes the fact. */
export type Effect = ReadonlyMap<string, string | null>;

export const factKey = {
  source: (name: string) => `source/${name}`,
  user: (login: string) => `user/${login}`,
  client: (id: string) => `client/${id}`,
  entry: (writer: number | string, slot: number | string) => `entry/${writer}/${slot}`,
  stat: (metric: string, atS: number) => `stat/${metric}/${atS}`,
  object: (partition: ModelPartition, id: string) => `object/${partitionPath(partition)}/${id}`,
  mark: (partition: ModelPartition, client: string) => `mark/${partitionPath(partition)}/${client}`,
  document: (key: DocumentKey) => `document/${scopeOf(key)}/${key.name}`,
} as const;

export function partitionPath({ source, user }: ModelPartition): string {
  return `${source}/${user ?? ''}`;
}

function scopeOf({ scope }: DocumentKey): string {
  switch (scope.kind) {
    case 'server':
      return 'server';
    case 'shared':
      return `shared/${scope.source}`;
    case 'user':
      return `user/${scope.user}/${scope.source}`;
    case 'group':
      return `group/${scope.group}/${scope.source}`;
    case 'client':
      return `client/${scope.client}/${scope.source}`;
  }
}

/** Returns one text for equal values, whatever the order of their keys. */
export function factText(value: JsonValue): string {
  return canonicalJson(value);
}

export interface StatSums {
  readonly count: number;
  readonly sum: number;
  readonly min: number;
  readonly max: number;
}

export function statText({ count, sum, min, max }: StatSums): string {
  return factText({ count, sum, min, max });
}

/** Leaves out when the device was seen: the clock stands still. */
export function markText({ epoch, seq, base, start }: Omit<DeviceTidemark, 'client' | 'seenAtMs'>): string {
  return factText({ epoch, seq, base, start });
}

/** The fields of a token, parsed without the server's code. */
export interface TokenFields {
  readonly epoch: string;
  readonly seq: number;
  /** The head at the last complete catch-up; null while the device starts over. */
  readonly base: number | null;
  /** The head at which starting over began; null when there is a base. */
  readonly start: number | null;
}

export function tokenFields(token: string): TokenFields {
  const [, epoch = '', seq = '', baseline = ''] = token.split('.');
  const baselineSeq = Number.parseInt(baseline.slice(1), 36);
  const isBase = baseline.startsWith('b');
  return {
    epoch,
    seq: Number.parseInt(seq, 36),
    base: isBase ? baselineSeq : null,
    start: isBase ? null : baselineSeq,
  };
}
