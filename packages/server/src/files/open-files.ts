import type { Log, Tidemark } from '@tidemark/core';
import type { Config } from '../config/config.ts';
import type { FileLinks } from './file-links.ts';
import { settlePlace } from './file-place.ts';
import { FileTransfers, type FileTransfersParts } from './file-transfers.ts';
import { openFileEngine } from './open-file-engine.ts';

export interface FilesParts {
  readonly tidemark: Tidemark;
  readonly links: FileLinks;
  readonly nowMs: () => number;
  readonly log: Pick<Log, 'warn'>;
}

/** Opens the place where the bytes of files are kept. */
export async function openFiles(config: Config, { tidemark, links, nowMs, log }: FilesParts): Promise<FileTransfers> {
  const { sizeMax, quotaBytes, uploadExpiresMs: expiresMs, s3 } = config.files;
  const engine = await openFileEngine(config);
  await settlePlace(tidemark.store, engine, nowMs());
  const rights = tidemark.files;
  const limits = { sizeMax, quotaBytes, expiresMs, linkS: s3?.linkS ?? 0 };
  const onDamaged: FileTransfersParts['onDamaged'] = (sha256, problem) => log.warn('file_damaged', { sha256, problem });
  return new FileTransfers({ engine, rights, catalogue: rights, links, nowMs, onDamaged, ...limits });
}
