import type { Guard } from '@tidemark/core';
import type { MemoryLife } from './memory-life.ts';
import { tupleKey } from './tuple-key.ts';

/** The first guard that does not exist, or not in the version it must have; null when all do. */
export function missingGuard(life: MemoryLife, guards: readonly Guard[]): Guard | null {
  return (
    guards.find(({ kind, key, version }) => {
      const entry = life.entries.get(tupleKey(kind, ...key));
      return entry === undefined || (version !== undefined && entry.version !== version);
    }) ?? null
  );
}
