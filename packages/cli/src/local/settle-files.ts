import { type Store, writeFilePlace } from '@tidemark/core';
import { FILES_FOLDER, openFilesIn } from '@tidemark/server/backups/backup-files';
import { type CopyableFiles, copyFiles, type FileCopies } from '@tidemark/server/backups/copy-files';
import type { Config } from '@tidemark/server/config/config';
import { openOfflineTidemark } from '@tidemark/server/open-tidemark';
import { CliFailure } from '../cli-failure.ts';

/** Files that are named in a message. */
const NAMED_MAX = 10;

export interface FileSettling {
  readonly config: Config;
  readonly store: Store;
  /** Where files may be found that are not in place. Null: nowhere. */
  readonly from: CopyableFiles | null;
  /** Where the files of the store are from now on. */
  readonly to: CopyableFiles;
  /** True: files that are nowhere count as missing from now on. */
  readonly isMissingAccepted: boolean;
}

export interface SettledFiles extends FileCopies {
  /** Files that are neither here nor there, or damaged. */
  readonly wrong: number;
}

/** Opens a folder with files that somebody has named. */
export async function openNamedFiles(folder: string): Promise<CopyableFiles> {
  const engine = await openFilesIn(folder);
  if (engine !== null) return engine;
  throw new CliFailure(`there is no folder ${folder}`, {
    hint: `name the folder ${FILES_FOLDER} beside a backup, or that of a server`,
  });
}

/** Brings the files of a store to their place, and makes it the place that the store knows. */
export async function settleFiles(settling: FileSettling): Promise<SettledFiles> {
  const { config, store, from, to, isMissingAccepted } = settling;
  const named: string[] = [];
  const lost: string[] = [];
  const onWrong = (sha256: string, problem: string) => {
    if (lost.push(sha256) <= NAMED_MAX) named.push(`${sha256} is ${problem}`);
  };
  const copies = await copyFiles({ store, from: from ?? to, to, checksPresent: true, onWrong });
  const wrong = lost.length;
  if (wrong > 0 && !isMissingAccepted) {
    const where = from === null ? to.place : `${from.place} and ${to.place}`;
    throw new CliFailure(
      `${wrong} of ${copies.files} files are missing or damaged in ${where}; the data was not changed`,
      {
        places: named,
        hint: 'name the folder that has them with --files, or go on without them with --accept-missing',
      },
    );
  }
  if (wrong > 0) await noteMissing(config, store, lost);
  await writeFilePlace(store, to, Date.now());
  return { ...copies, wrong };
}

/** Makes files count as missing, so that devices and backends send them again. */
async function noteMissing(config: Config, store: Store, lost: readonly string[]): Promise<void> {
  const { files } = await openOfflineTidemark(config, store);
  for (const sha256 of lost) await files.lost(sha256);
}
