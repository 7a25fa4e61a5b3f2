import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '@tidemark/protocol';
import type { Config } from '@tidemark/server/config/config';
import { CliFailure } from '../cli-failure.ts';

/** The file that marks a folder as a data folder. */
export const MARK_FILE = 'tidemark.json';
/** The folder with the sockets of the processes that share a data folder. */
const BUS_FOLDER = 'bus';
/** The folder with the backups that the server makes, unless `backup_folder` names another. */
const BACKUP_FOLDER = 'backups';
/** The folder with the bytes of files, unless `files.folder` names another. They are no part of the data, and stay where they are. */
const FILES_FOLDER = 'files';

export interface FolderMark {
  readonly engine: string;
  readonly format: number;
  /** `backup`: a copy that gets a new epoch when it is opened. */
  readonly state: 'new' | 'ready' | 'backup' | 'incomplete' | 'moving' | 'moved';
}

/**
 * Reads the mark of a data folder; null when the folder does not exist, is empty or is no data folder. Throws when the
 * mark cannot be read.
 */
export function markOf(folder: string): FolderMark | null {
  const text = readMark(join(folder, MARK_FILE));
  if (text === null) return null;
  try {
    const mark = parseJson(text) as (FolderMark & { readonly product?: string }) | null;
    return mark?.product === 'tidemark' ? mark : null;
  } catch {
    return null;
  }
}

function readMark(file: string): string | null {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EACCES') throw error;
    return null;
  }
}

/** Requires an existing data folder: opening another folder would create a new store in it. */
export function requireDataFolder(folder: string): FolderMark {
  const mark = markOf(folder);
  if (mark !== null) return mark;
  const what = existsSync(folder) ? 'is not a Tidemark data folder' : 'does not exist';
  throw new CliFailure(`${folder} ${what}`, { hint: 'name the folder with --data or TIDEMARK_DATA' });
}

/** Refuses Valkey: its data is copied with Valkey's own tools, which give a consistent copy. */
export function requireEmbedded({ store }: Pick<Config, 'store'>): void {
  if (store === 'embedded') return;
  throw new CliFailure(`the data is kept at ${store}, and is backed up and restored there`, {
    hint: 'docs/operating/valkey.md says how',
  });
}

const BESIDE_DATA: ReadonlySet<string> = new Set([BUS_FOLDER, BACKUP_FOLDER, FILES_FOLDER]);

/** Lists the files of the folder, without the sockets of its processes, the backups and the files of objects. */
export function entriesOf(folder: string): readonly string[] {
  const names = existsSync(folder) && statSync(folder).isDirectory() ? readdirSync(folder) : [];
  return names.filter((name) => !BESIDE_DATA.has(name));
}
