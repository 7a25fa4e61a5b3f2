import { join } from 'node:path';
import { type FileEngine, openFolderEngine, openS3Engine } from '@tidemark/files';
import type { Config } from '../config/config.ts';
import { FILES_RESERVE_BYTES } from '../limits.ts';

/** Opens the place where the bytes of files are kept: a bucket, or a folder. */
export function openFileEngine({ files: { s3, folder }, dataFolder }: Config): Promise<FileEngine> {
  if (s3 !== null) return openS3Engine(s3);
  return openFolderEngine({ folder: folder ?? join(dataFolder, 'files'), reserveBytes: FILES_RESERVE_BYTES });
}
