import type { EntryRef } from '@tidemark/core';
import type { MemoryLife } from './memory-life.ts';
import { tupleKey } from './tuple-key.ts';

/** The first guard that does not exist, or null when all do. */
export function missingGuard(life: MemoryLife, guards: readonly EntryRef[]): EntryRef | null {
  return guards.find(({ kind, key }) => !life.entries.has(tupleKey(kind, ...key))) ?? null;
}
