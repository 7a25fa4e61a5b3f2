import { KeyedMutex } from '@tidemark/core';
import type { FileEngine, FileUpload } from '@tidemark/files';
import { Refusal } from '@tidemark/protocol';
import { FILE_UPLOADS_PER_USER_MAX } from '../limits.ts';

interface UnfinishedUploadsParts {
  readonly engine: Pick<FileEngine, 'createUpload' | 'listUploads'>;
  /** Bytes that the unfinished uploads of one user announce together. */
  readonly bytesMax: number;
}

/**
 * Begins uploads, within what one user may leave unfinished: their bytes are on the disk, and do not count in the quota
 * before they are files. Uploads that one user begins at the same moment take turns, or they would all find the same room.
 */
export class UnfinishedUploads {
  readonly #parts: UnfinishedUploadsParts;
  readonly #turns = new KeyedMutex();

  constructor(parts: UnfinishedUploadsParts) {
    this.#parts = parts;
  }

  /** Begins an upload, or finds it. `owner` is the part of its id that all uploads of the user share. */
  begin(owner: string, id: string, start: Pick<FileUpload, 'sha256' | 'size'>): Promise<FileUpload> {
    const { engine } = this.#parts;
    return this.#turns.take(owner, async () => {
      const uploads = await engine.listUploads({ owner, limit: FILE_UPLOADS_PER_USER_MAX });
      this.#requireRoom(uploads, id, start.size);
      return engine.createUpload(id, start);
    });
  }

  #requireRoom(uploads: readonly FileUpload[], id: string, size: number): void {
    const others = uploads.filter((upload) => upload.id !== id);
    if (others.length >= FILE_UPLOADS_PER_USER_MAX) {
      throw tooMany(`the user has ${FILE_UPLOADS_PER_USER_MAX} unfinished uploads`);
    }
    // What a device has begun goes on, also when the quota has become smaller.
    if (uploads.some((upload) => upload.id === id && upload.size === size)) return;
    const bytes = others.reduce((sum, upload) => sum + upload.size, size);
    const { bytesMax } = this.#parts;
    if (bytes <= bytesMax) return;
    throw tooMany(
      `with this one, the unfinished uploads of the user have ${bytes} bytes, and at most ${bytesMax} are allowed`,
    );
  }
}

function tooMany(reason: string): Refusal {
  return new Refusal('too_many_uploads', `${reason}; finish or delete some of them first`);
}
