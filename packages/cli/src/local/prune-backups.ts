import { readdirSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { MARK_FILE, markOf } from './data-folder.ts';

/**
 * Deletes the oldest backups in the folder that holds `newest`, until `keep` are left, and returns the folders it deleted.
 * Only folders that say they are backups are counted and deleted; one that a server has opened since is data, and stays.
 */
export function pruneBackups(newest: string, keep: number): readonly string[] {
  const parent = dirname(newest);
  const others = readdirSync(parent, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && entry.name !== basename(newest))
    .map(({ name }) => join(parent, name))
    .filter((folder) => markOf(folder)?.state === 'backup');
  const byAge = others.map((folder) => ({ folder, madeMs: statSync(join(folder, MARK_FILE)).mtimeMs }));
  byAge.sort((left, right) => right.madeMs - left.madeMs || (left.folder < right.folder ? 1 : -1));
  const tooMany = byAge.slice(keep - 1).map(({ folder }) => folder);
  for (const folder of tooMany) rmSync(folder, { recursive: true });
  return tooMany;
}
