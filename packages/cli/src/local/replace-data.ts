import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { ABOUT_FILES } from '@tidemark/server/backups/backup-files';
import { entriesOf, MARK_FILE } from './data-folder.ts';
import { giveTo, type Owner } from './ownership.ts';

/** The folder inside the data folder where a restore prepares the backup; the data folder itself may be a mount point. */
const STAGING = /^restoring-[0-9]+$/;
/** The folder that keeps the data from before the restore. */
const REPLACED = /^replaced-[0-9TZ-]+$/;
const LOCK = /-lock$/;

/** True when a restore would replace something in the folder. */
export function isOccupied(folder: string): boolean {
  return dataIn(folder).length > 0;
}

/** True when an interrupted restore has left the folder without its mark. */
export function isInterrupted(folder: string): boolean {
  const names = entriesOf(folder);
  return !names.includes(MARK_FILE) && names.some((name) => STAGING.test(name) || REPLACED.test(name));
}

/** Copies a backup into a folder beside the data and flushes it to disk. */
export async function stage(backup: string, folder: string): Promise<string> {
  const staging = join(folder, `restoring-${process.pid}`);
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true, mode: 0o700 });
  for (const name of entriesOf(backup).filter((one) => !LOCK.test(one) && !ABOUT_FILES.includes(one))) {
    copyFileSync(join(backup, name), join(staging, name));
    await flush(join(staging, name));
  }
  return staging;
}

export function unstage(staging: string): void {
  rmSync(staging, { recursive: true, force: true });
}

/**
 * Replaces the data by the prepared backup. It removes the old mark first and writes the new one last, so that no server
 * opens the folder if this process dies in between. `isAlone` is called after the mark is gone, when no server can open
 * the folder any more. The old data is moved, not deleted; the result is its new folder.
 */
export async function exchange(
  folder: string,
  staging: string,
  isAlone: () => Promise<boolean>,
): Promise<string | null | 'not_alone'> {
  const old = dataIn(folder);
  const owner = ownerOf(folder);
  const replaced = old.length === 0 ? null : makeReplaced(folder);
  if (replaced !== null) {
    if (old.includes(MARK_FILE)) renameSync(join(folder, MARK_FILE), join(replaced, MARK_FILE));
    if (!(await isAlone())) {
      if (old.includes(MARK_FILE)) renameSync(join(replaced, MARK_FILE), join(folder, MARK_FILE));
      rmSync(replaced, { recursive: true });
      return 'not_alone';
    }
    for (const name of old.filter((one) => one !== MARK_FILE)) renameSync(join(folder, name), join(replaced, name));
  }
  const fresh = entriesOf(staging).filter((name) => name !== MARK_FILE && !LOCK.test(name));
  for (const name of [...fresh, MARK_FILE]) renameSync(join(staging, name), join(folder, name));
  for (const name of entriesOf(folder).filter((one) => STAGING.test(one))) unstage(join(folder, name));
  // After a restore by root the data gets its former owner, otherwise the server could not open it.
  for (const name of [...fresh, MARK_FILE]) giveTo(owner, join(folder, name));
  if (replaced !== null) giveTo(owner, replaced);
  await flush(folder);
  return replaced;
}

/** Returns the owner of the mark, which the server wrote; somebody else may have created the folder. */
export function ownerOf(folder: string): Owner {
  const mark = join(folder, MARK_FILE);
  const { uid, gid } = statSync(existsSync(mark) ? mark : folder);
  return { uid, gid };
}

function dataIn(folder: string): readonly string[] {
  return entriesOf(folder).filter((name) => !STAGING.test(name) && !REPLACED.test(name));
}

function makeReplaced(folder: string): string {
  const replaced = join(folder, `replaced-${new Date().toISOString().replaceAll(/[:.]/g, '-')}`);
  mkdirSync(replaced, { mode: 0o700 });
  return replaced;
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
