import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { entriesOf, MARK_FILE } from './data-folder.ts';
import { giveTo, type Owner } from './ownership.ts';

/** Where a backup is made ready inside the data folder, which may be a mount point that cannot be renamed itself. */
const STAGING = /^restoring-[0-9]+$/;
/** Where what was there before is kept. */
const REPLACED = /^replaced-[0-9TZ-]+$/;
const LOCK = /-lock$/;

/** Whether the folder holds something that a restore would take the place of. */
export function isOccupied(folder: string): boolean {
  return dataIn(folder).length > 0;
}

/** A folder that lost its mark while a restore was under way. */
export function isInterrupted(folder: string): boolean {
  const names = entriesOf(folder);
  return !names.includes(MARK_FILE) && names.some((name) => STAGING.test(name) || REPLACED.test(name));
}

/** Copies a backup to a folder of its own beside the data, flushed to the disk. */
export async function stage(backup: string, folder: string): Promise<string> {
  const staging = join(folder, `restoring-${process.pid}`);
  rmSync(staging, { recursive: true, force: true });
  mkdirSync(staging, { recursive: true, mode: 0o700 });
  for (const name of entriesOf(backup).filter((one) => !LOCK.test(one))) {
    copyFileSync(join(backup, name), join(staging, name));
    await flush(join(staging, name));
  }
  return staging;
}

export function unstage(staging: string): void {
  rmSync(staging, { recursive: true, force: true });
}

/**
 * Takes the mark away first and brings the new one last: whatever dies in between, no server takes the folder for data.
 * `isAlone` is asked once the mark is gone, when no server can come any more. What was there before is moved, not
 * deleted; the answer is where to.
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
  // A restore that root has run leaves the data to whoever it belonged to, or the server could not open it.
  for (const name of [...fresh, MARK_FILE]) giveTo(owner, join(folder, name));
  if (replaced !== null) giveTo(owner, replaced);
  await flush(folder);
  return replaced;
}

/** Whose the data is: the server has written the mark; a folder may have been made by somebody else for it. */
function ownerOf(folder: string): Owner {
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
