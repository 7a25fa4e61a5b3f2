import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { EntryRef, StoreLifecycle } from '@tidemark/core/ports';
import { flushFolder, writeManifest } from './data-folder.ts';
import type { EngineContext } from './engine-context.ts';
import { readEntry } from './entries.ts';
import { keyOf } from './keys.ts';
import { newId, setEpoch, storeEpoch } from './meta.ts';
import { STORE_FILE, type Tables } from './tables.ts';

export function lifecycle({ read, write }: EngineContext): Pick<StoreLifecycle, 'epoch' | 'reset' | 'backup'> {
  return {
    epoch: async () => storeEpoch(read()),

    reset: (keep) => write({ kind: 'reset', keep }),

    async backup(folder) {
      const { root } = read();
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty; a backup needs a folder of its own`);
      await root.backup(join(folder, STORE_FILE), true);
      chmodSync(join(folder, STORE_FILE), 0o600);
      flushFolder(folder);
      // The manifest is written last: a folder without one is no backup.
      writeManifest(folder, 'backup');
    },
  };
}

/** Counters go on across a reset, so versions and numbers from before are never given again. Runs in the writer's transaction. */
export function applyReset(tables: Tables, keep: readonly EntryRef[]): string {
  const kept = keep.map((ref) => ({ ref, entry: readEntry(tables, ref) }));
  const { root: _root, meta: _meta, ...emptied } = tables;
  for (const table of Object.values(emptied)) table.clearSync();
  for (const { ref, entry } of kept) {
    if (entry !== null) tables.entries.put(keyOf(ref.kind, ...ref.key), `${entry.version} ${entry.value}`);
  }
  return setEpoch(tables, newId());
}
