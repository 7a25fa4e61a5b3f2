import { join } from 'node:path';
import type { Tidemark } from '@tidemark/core';
import { openFolderEngine } from '@tidemark/files';
import type { Config } from '../config/config.ts';
import { FILES_RESERVE_BYTES } from '../limits.ts';
import { FileTransfers } from './file-transfers.ts';

export interface FilesParts {
  readonly tidemark: Tidemark;
  readonly nowMs: () => number;
}

/** Opens the place where the bytes of files are kept. */
export async function openFiles(
  { files, dataFolder }: Config,
  { tidemark, nowMs }: FilesParts,
): Promise<FileTransfers> {
  const { sizeMax, uploadExpiresMs: expiresMs, folder } = files;
  const place = { folder: folder ?? join(dataFolder, 'files'), reserveBytes: FILES_RESERVE_BYTES };
  const engine = await openFolderEngine(place);
  const rights = tidemark.files;
  return new FileTransfers({ engine, rights, catalogue: rights, nowMs, sizeMax, expiresMs });
}
