import type { EntryRef } from '@tidemark/core';
import { keyOf } from './keys.ts';
import type { Tables } from './tables.ts';

/** The first of these that does not exist. */
export function missingGuard(tables: Tables, guards: readonly EntryRef[]): EntryRef | null {
  return guards.find((guard) => !tables.entries.doesExist(keyOf(guard.kind, ...guard.key))) ?? null;
}
