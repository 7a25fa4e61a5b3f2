import type { DeviceTidemark, DocumentKey, PartitionKey } from '@tidemark/core';
import type { JsonValue } from '@tidemark/protocol';

/**
 * A world as a plain map: the key names a fact, the text says it. What must be true and what is found in a store are
 * both written this way, so that comparing them is comparing two maps.
 */
export type Facts = ReadonlyMap<string, string>;

/** What an operation makes of facts; null: the fact is no more. */
export type Effect = ReadonlyMap<string, string | null>;

export const factKey = {
  source: (name: string) => `source/${name}`,
  user: (login: string) => `user/${login}`,
  client: (id: string) => `client/${id}`,
  entry: (writer: number | string, slot: number | string) => `entry/${writer}/${slot}`,
  stat: (metric: string, atS: number) => `stat/${metric}/${atS}`,
  object: (partition: PartitionKey, id: string) => `object/${placeOf(partition)}/${id}`,
  mark: (partition: PartitionKey, client: string) => `mark/${placeOf(partition)}/${client}`,
  document: (key: DocumentKey) => `document/${scopeOf(key)}/${key.name}`,
} as const;

export function placeOf({ source, user }: PartitionKey): string {
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
    case 'client':
      return `client/${scope.client}/${scope.source}`;
  }
}

/** One text for equal values, whatever the order of their keys. */
export function factText(value: JsonValue | undefined): string {
  return JSON.stringify(value, (_, inner: unknown) => {
    const isHash = typeof inner === 'object' && inner !== null && !Array.isArray(inner);
    return isHash
      ? Object.fromEntries(Object.entries(inner).sort(([left], [right]) => (left < right ? -1 : 1)))
      : inner;
  });
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

/** When the device was seen is left out: the clock stands still. */
export function markText({ epoch, seq, base, start }: Omit<DeviceTidemark, 'client' | 'seenAtMs'>): string {
  return factText({ epoch, seq, base, start });
}
