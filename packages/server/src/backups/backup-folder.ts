import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type BackupFiles, isBackupFolder, isUnfinished, MARK_FILE, readBackupFiles } from './backup-files.ts';

/** A complete backup: a folder with a copy of an embedded store. */
export interface BackupEntry {
  readonly name: string;
  readonly folder: string;
  readonly madeAtMs: number;
  readonly files: readonly { readonly name: string; readonly bytes: number }[];
  /** The files of objects, which are beside it. Null: none were copied. */
  readonly ofObjects: BackupFiles | null;
}

/** Returns the backups in a folder, newest first. Folders that are no backup, or were opened by a server since, are left out. */
export async function backupsIn(parent: string): Promise<readonly BackupEntry[]> {
  const entries = await readdir(parent, { withFileTypes: true }).catch(() => []);
  const found = await Promise.all(
    entries.filter((entry) => entry.isDirectory()).map(({ name }) => readBackup(parent, name)),
  );
  return found
    .filter((backup) => backup !== null)
    .sort((left, right) => right.madeAtMs - left.madeAtMs || (left.folder < right.folder ? 1 : -1));
}

/** Returns null if the folder is not a backup, or not a complete one. */
export async function readBackup(parent: string, name: string): Promise<BackupEntry | null> {
  const folder = join(parent, name);
  try {
    if (!(await isBackupFolder(folder)) || (await isUnfinished(parent, name))) return null;
    const { mtimeMs } = await stat(join(folder, MARK_FILE));
    const names = (await readdir(folder)).filter((file) => !file.endsWith('-lock')).sort();
    const files = await Promise.all(
      names.map(async (file) => ({ name: file, bytes: (await stat(join(folder, file))).size })),
    );
    return { name, folder, madeAtMs: mtimeMs, files, ofObjects: await readBackupFiles(folder) };
  } catch {
    return null;
  }
}

/** Deletes a backup. Its mark goes first, so that no half of it is ever taken for a backup. */
export async function deleteBackup({ folder }: BackupEntry): Promise<void> {
  await rm(join(folder, MARK_FILE), { force: true });
  await rm(folder, { recursive: true, force: true });
}
