import type { LocalStore } from '@tidemark/client';
import type { SqliteDatabases } from './database-series.ts';
import type { HealingStoreOptions } from './healing-store.ts';

/**
 * Opens a store as `openSqliteStore` does. A damaged database is set aside: it keeps its name, and another one takes its place, with
 * the session and the changes that could be read. The device then fetches its data again.
 */
export async function openHealingSqliteStore(
  databases: SqliteDatabases,
  options: HealingStoreOptions = {},
): Promise<LocalStore> {
  // Apps that do not use it do not load it.
  const { openHealingStore } = await import('./healing-store.ts');
  return openHealingStore(databases, options);
}
