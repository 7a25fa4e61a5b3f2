import type { Guard } from '@tidemark/core/ports';
import { lookUpKey } from './keys.ts';
import type { Tables } from './tables.ts';

/** Returns the first guard whose entry is missing or has another version than the guard demands. */
export function missingGuard(tables: Tables, guards: readonly Guard[]): Guard | null {
  return guards.find((guard) => !isMet(tables, guard)) ?? null;
}

function isMet(tables: Tables, { kind, key, version }: Guard): boolean {
  const text = tables.entries.get(lookUpKey(kind, ...key));
  // An entry is stored as its version, a space and its value.
  return text !== undefined && (version === undefined || text.startsWith(`${version} `));
}
