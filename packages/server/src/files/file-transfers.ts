import type { FileEngine } from '@tidemark/files';
import { type Download, type DownloadRequest, openDownload } from './file-downloads.ts';
import type { FileRights } from './file-rights.ts';
import { FileUploads, type FileUploadsParts } from './file-uploads.ts';
import { TransferSlots } from './transfer-slots.ts';

/** Everything that moves bytes of files. */
export class FileTransfers {
  readonly uploads: FileUploads;
  readonly slots = new TransferSlots();
  readonly sizeMax: number;
  readonly engine: FileEngine;
  readonly #rights: FileRights;

  constructor(parts: FileUploadsParts) {
    this.uploads = new FileUploads(parts);
    this.engine = parts.engine;
    this.sizeMax = parts.sizeMax;
    this.#rights = parts.rights;
  }

  /** Opens a file for a user of a device. */
  openFor(user: string, sha256: string, request: DownloadRequest): Promise<Download> {
    const mayRead = async () => (await this.#rights.mayRead(user, sha256)) !== null;
    return openDownload(this.engine, sha256, request, mayRead);
  }
}
