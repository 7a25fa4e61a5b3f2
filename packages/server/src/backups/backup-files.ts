import { once } from 'node:events';
import { createReadStream, createWriteStream } from 'node:fs';
import { access, mkdir, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import { finished } from 'node:stream/promises';
import { hasStoredFiles, type Store } from '@tidemark/core';
import { type FileEngine, openFolderEngine } from '@tidemark/files';
import { parseJson } from '@tidemark/protocol';
import { UNFINISHED_BACKUP_MS } from '../limits.ts';
import { copyFiles } from './copy-files.ts';

/** The file that says what a folder is. A backup has it as soon as its data is complete. */
export const MARK_FILE = 'tidemark.json';
/** The folder beside backups that holds the files of all of them, each once. */
export const FILES_FOLDER = 'tidemark-files';
/** What a backup needs of that folder: one hash a line, in order. The first list is made before the copy of the data. */
const LIST_BEFORE = 'files-before.txt';
const LIST = 'files.txt';
const SUMMARY = 'files.json';
/** Names of the files in a backup that are not part of the data. */
export const ABOUT_FILES: readonly string[] = [LIST_BEFORE, LIST, SUMMARY];
/** Says that a backup is being made, and what it relies on. It is complete when it has its summary. */
const MAKING = 'making.';
/** Files that arrive while others are copied are copied again before the data, at most so often. */
const ROUNDS_MAX = 4;
const LISTED_AT_ONCE = 1_000;

/** The files that belong to a backup. */
export interface BackupFiles {
  readonly files: number;
  readonly bytes: number;
  /** So many could not be copied, because they were gone or damaged. */
  readonly wrong: number;
}

export interface BackupSource {
  readonly store: Pick<Store, 'backup'>;
  /** Null: the bytes are in a bucket, which is not copied. */
  readonly files: { readonly store: Store; readonly openEngine: () => Promise<FileEngine> } | null;
}

const NO_FILES: BackupFiles = { files: 0, bytes: 0, wrong: 0 };

/**
 * Copies the data to a new folder, and the files that it calls stored to the folder beside it. The files go first, until
 * hardly any is new, then the data, then the files once more. A file that the data calls stored was thus either copied
 * before, or was sent just now; the collector takes no file that was sent within the last hour.
 */
export async function backUp({ store, files }: BackupSource, target: string): Promise<BackupFiles | null> {
  if (files === null) {
    await store.backup(target);
    return null;
  }
  const pool = join(dirname(target), FILES_FOLDER);
  const making = join(pool, `${MAKING}${basename(target)}`);
  let isCopied = false;
  try {
    const hadFiles = await hasStoredFiles(files.store);
    if (hadFiles) await copyUntilSettled(files, pool, making);
    await store.backup(target);
    isCopied = true;
    // The data may call files stored that are gone by now, even all of them.
    const hasFiles = hadFiles || (await hasStoredFiles(files.store));
    const summary = hasFiles ? await copyForGood(files, pool, { making, target }) : NO_FILES;
    await writeFile(join(target, SUMMARY), JSON.stringify(summary), { mode: 0o600 });
    if (hasFiles) await rename(making, join(target, LIST_BEFORE));
    return summary;
  } catch (error) {
    // Without its files it is none.
    if (isCopied) await rm(join(target, MARK_FILE), { force: true });
    throw error;
  } finally {
    await rm(making, { force: true });
  }
}

/** Whether the files of a backup are still being copied, or the process has died that did so. */
export async function isUnfinished(parent: string, name: string): Promise<boolean> {
  return (await exists(join(parent, FILES_FOLDER, `${MAKING}${name}`))) && !(await exists(join(parent, name, SUMMARY)));
}

type Copying = Pick<Parameters<typeof copyFiles>[0], 'store' | 'from' | 'to'>;
type Files = NonNullable<BackupSource['files']>;

async function copyUntilSettled(files: Files, pool: string, making: string): Promise<void> {
  const copying = await copyingTo(pool, making, files);
  for (let round = 0; round < ROUNDS_MAX; round++) if ((await copyAndList(copying, making)).copied === 0) return;
}

/** Copies what has come until the data was copied, and lists what the backup needs now. */
async function copyForGood(
  files: Files,
  pool: string,
  { making, target }: { readonly making: string; readonly target: string },
): Promise<BackupFiles> {
  const copying = await copyingTo(pool, making, files);
  const { copied: _copied, ...summary } = await copyAndList(copying, join(target, LIST));
  return summary;
}

/** Opens the folder beside the backup. From now on nobody removes files from it. */
async function copyingTo(pool: string, making: string, { store, openEngine }: Files): Promise<Copying> {
  await mkdir(pool, { recursive: true, mode: 0o700 });
  await writeFile(making, '', { flag: 'a', mode: 0o600 });
  return { store, from: await openEngine(), to: await openFolderEngine({ folder: pool }) };
}

/** Copies the files, and writes the list of those that are needed. */
async function copyAndList(copying: Copying, path: string): Promise<BackupFiles & { readonly copied: number }> {
  const list = createWriteStream(path, { mode: 0o600 });
  let wrong = 0;
  try {
    const copies = await copyFiles({
      ...copying,
      onWrong: () => wrong++,
      onFile: async ({ sha256 }) => {
        if (!list.write(`${sha256}\n`)) await once(list, 'drain');
      },
    });
    return { ...copies, wrong };
  } finally {
    list.end();
    await finished(list);
  }
}

/** Returns what is known of the files of a backup. Null: none were copied. */
export async function readBackupFiles(folder: string): Promise<BackupFiles | null> {
  const text = await readFile(join(folder, SUMMARY), 'utf8').catch(() => null);
  return text === null ? null : (parseJson(text) as BackupFiles);
}

/** Opens the files beside a backup. Null: there are none. */
export function openFilesBeside(backup: string): Promise<FileEngine | null> {
  return openFilesIn(join(dirname(backup), FILES_FOLDER));
}

/** Opens a folder with files, of a backup or a server. Null: there is no such folder. */
export async function openFilesIn(folder: string): Promise<FileEngine | null> {
  return (await exists(folder)) ? openFolderEngine({ folder }) : null;
}

/** Removes the files that no backup in a folder needs. While a backup is made, none is removed. */
export async function removeUnneededFiles(parent: string, nowMs: number, open = openFolderEngine): Promise<void> {
  const pool = join(parent, FILES_FOLDER);
  if (!(await exists(pool)) || (await isBeingMade(pool, nowMs))) return;
  const known = await listsIn(parent);
  const engine = await open({ folder: pool });
  const lists = await Promise.all([...known].map(openList));
  // A backup that began meanwhile, also in a folder that was there, may rely on the file.
  const isWanted = async () => {
    if (await isBeingMade(pool, nowMs)) return true;
    for (const path of await listsIn(parent)) if (!known.has(path)) return true;
    return false;
  };
  try {
    for (let after = ''; ; ) {
      const page = await engine.list({ after, limit: LISTED_AT_ONCE });
      for (const { sha256 } of page) if (!(await isNeeded(lists, sha256))) await engine.remove(sha256, isWanted);
      const last = page.at(-1);
      if (last === undefined || page.length < LISTED_AT_ONCE) break;
      after = last.sha256;
    }
    for (const sha256 of await engine.unfinishedRemovals()) await engine.remove(sha256, async () => true);
    await dropUnfinished(engine, nowMs);
  } finally {
    for (const list of lists) list.close();
  }
}

interface OrderedList {
  /** Whether the hash is in the list. Calls ask for ever higher hashes. */
  has(sha256: string): Promise<boolean>;
  close(): void;
}

async function openList(path: string): Promise<OrderedList> {
  const input = createReadStream(path);
  const lines = createInterface({ input })[Symbol.asyncIterator]();
  let line = await lines.next();
  return {
    async has(sha256) {
      while (line.done !== true && line.value < sha256) line = await lines.next();
      return line.done !== true && line.value === sha256;
    },
    close: () => input.destroy(),
  };
}

async function isNeeded(lists: readonly OrderedList[], sha256: string): Promise<boolean> {
  let isFound = false;
  for (const list of lists) if (await list.has(sha256)) isFound = true;
  return isFound;
}

/** Returns the paths of the lists in all backups of a folder. */
async function listsIn(parent: string): Promise<ReadonlySet<string>> {
  const entries = await readdir(parent, { withFileTypes: true });
  const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => join(parent, name));
  const paths = folders.flatMap((folder) => [join(folder, LIST_BEFORE), join(folder, LIST)]);
  const found = await Promise.all(paths.map(exists));
  return new Set(paths.filter((_, index) => found[index]));
}

/** What is left of a backup whose process died counts for a day. Then its files may go, and it is none any more. */
async function isBeingMade(pool: string, nowMs: number): Promise<boolean> {
  for (const name of (await readdir(pool)).filter((one) => one.startsWith(MAKING))) {
    const found = await stat(join(pool, name)).catch(() => null);
    if (found === null || nowMs - found.mtimeMs < UNFINISHED_BACKUP_MS) return true;
    await endDeadBackup(join(pool, name), join(dirname(pool), name.slice(MAKING.length)));
  }
  return false;
}

/** The process may have died when everything was copied. */
async function endDeadBackup(making: string, folder: string): Promise<void> {
  if (await exists(join(folder, SUMMARY))) {
    await rename(making, join(folder, LIST_BEFORE));
    return;
  }
  if (await isBackupFolder(folder)) await rm(join(folder, MARK_FILE), { force: true });
  await rm(making, { force: true });
}

/** Whether a folder says of itself that it is a backup, and was not opened by a server since. */
export async function isBackupFolder(folder: string): Promise<boolean> {
  const text = await readFile(join(folder, MARK_FILE), 'utf8').catch(() => 'null');
  const mark = parseJson(text) as { readonly product?: unknown; readonly state?: unknown } | null;
  return mark?.product === 'tidemark' && mark.state === 'backup';
}

async function dropUnfinished(engine: FileEngine, nowMs: number): Promise<void> {
  for (const { id, changedMs } of await engine.listUploads({ limit: LISTED_AT_ONCE })) {
    if (nowMs - changedMs >= UNFINISHED_BACKUP_MS) await engine.dropUpload(id);
  }
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
