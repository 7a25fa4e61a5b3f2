import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseJson } from '@tidemark/protocol';
import type { Config } from '@tidemark/server/config/config';
import { CliFailure } from '../cli-failure.ts';

/** The file in which a data folder says what it is. */
export const MARK_FILE = 'tidemark.json';
/** Where the processes that share a folder find each other. */
const BUS_FOLDER = 'bus';

export interface FolderMark {
  readonly engine: string;
  readonly format: number;
  /** `backup`: a copy, which begins a life of its own when it is opened. */
  readonly state: 'new' | 'ready' | 'backup' | 'incomplete' | 'moving' | 'moved';
}

/**
 * What the folder says it is; null when it does not exist, is empty, or is something else. Throws when it cannot be looked
 * at: nobody can tell then what it is.
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

/** Opening a folder that is none would make one, which is not what whoever looks after data asks for. */
export function requireDataFolder(folder: string): FolderMark {
  const mark = markOf(folder);
  if (mark !== null) return mark;
  const what = existsSync(folder) ? 'is not a Tidemark data folder' : 'does not exist';
  throw new CliFailure(`${folder} ${what}`, { hint: 'name the folder with --data or TIDEMARK_DATA' });
}

/** Copies of a server's data are made with that server's own tools: only it knows a moment in which all belongs together. */
export function requireEmbedded({ store }: Pick<Config, 'store'>): void {
  if (store === 'embedded') return;
  throw new CliFailure(`the data is kept at ${store}, and is backed up and restored there`, {
    hint: 'docs/operating/valkey.md says how',
  });
}

/** What is kept in the folder; where its processes meet is nothing of that. */
export function entriesOf(folder: string): readonly string[] {
  const names = existsSync(folder) && statSync(folder).isDirectory() ? readdirSync(folder) : [];
  return names.filter((name) => name !== BUS_FOLDER);
}
