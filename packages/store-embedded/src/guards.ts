import type { Guard } from '@tidemark/core/ports';
import { lookUpKey } from './keys.ts';
import type { Tables } from './tables.ts';

/** The first of these that does not exist, or not in the version it must have. */
export function missingGuard(tables: Tables, guards: readonly Guard[]): Guard | null {
  return guards.find((guard) => !isThere(tables, guard)) ?? null;
}

function isThere(tables: Tables, { kind, key, version }: Guard): boolean {
  const text = tables.entries.get(lookUpKey(kind, ...key));
  // The version stands before the value, with a space in between.
  return text !== undefined && (version === undefined || text.startsWith(`${version} `));
}
