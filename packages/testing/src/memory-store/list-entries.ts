import type { Entry, EntryList } from '@tidemark/core';
import { compareTuples } from './compare-tuples.ts';
import type { MemoryLife } from './memory-life.ts';

export function listEntries(life: MemoryLife, { kind, prefix, after, limit }: EntryList): Entry[] {
  return [...life.entries.values()]
    .filter((entry) => entry.kind === kind && prefix.every((part, index) => entry.key[index] === part))
    .filter((entry) => after === undefined || compareTuples(entry.key, after) > 0)
    .sort((left, right) => compareTuples(left.key, right.key))
    .slice(0, limit)
    .map(({ key, value, version }) => ({ key: [...key], value, version }));
}
