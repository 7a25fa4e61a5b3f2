import { type FilePlace, hasStoredFiles, type Store } from '@tidemark/core';
import { copyFiles, type FileCopies } from '@tidemark/server/backups/copy-files';
import type { Config } from '@tidemark/server/config/config';
import { openFilesOf } from '@tidemark/server/files/file-place';
import { openFileEngine } from '@tidemark/server/files/open-file-engine';
import { storeFailure } from './with-store.ts';

export interface FilesMove {
  /** The store whose data is moved. */
  readonly from: Store;
  readonly source: Config;
  readonly target: Config;
}

export interface MovedFiles {
  /** Where they are from now on. Absent: where they were. */
  readonly to?: FilePlace;
  /** What happened, for people and for programs. */
  readonly text: string;
  readonly report: FilesReport;
}

interface FilesReport {
  readonly place: string;
  readonly files?: number;
  readonly copied?: number;
  readonly wrong?: number;
}

/** Copies the files of a store to where the target keeps its files. Null: there are none. */
export async function moveFiles({ from, source, target }: FilesMove): Promise<MovedFiles | null> {
  if (!(await hasStoredFiles(from))) return null;
  const old = await openFilesOf(source, from).catch((error: unknown) => {
    throw storeFailure(error);
  });
  const engine = hasPlace(target) ? await openFileEngine(target) : old;
  if (engine.id === old.id) {
    const { place } = old;
    return {
      text: `The files of objects stay in ${place}: the server needs it as files.folder or files.s3_bucket.`,
      report: { place },
    };
  }
  let wrong = 0;
  const copies = await copyFiles({ store: from, from: old, to: engine, onWrong: () => wrong++ });
  const { id, place } = engine;
  return { to: { id, place }, text: textOf(copies, wrong, place), report: { place, ...copies, wrong } };
}

/** A server on Valkey or Redis keeps files where its settings say; without any, nothing is known of its folder here. */
function hasPlace({ store, files }: Config): boolean {
  return store === 'embedded' || files.folder !== null || files.s3 !== null;
}

function textOf({ files, copied }: FileCopies, wrong: number, place: string): string {
  const rest = wrong === 0 ? '' : ` ${wrong} are missing or damaged; tidemark verify names them.`;
  return `${copied} of ${files} files were copied to ${place}; the others were there.${rest}`;
}
