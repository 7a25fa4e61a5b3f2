import type { Tidemark } from '@tidemark/core';
import { type FileEngine, isSha256 } from '@tidemark/files';
import { Refusal } from '@tidemark/protocol';
import { BackendFiles } from './backend-files.ts';
import { type Download, type DownloadRequest, fileNotFound, openDownload } from './file-downloads.ts';
import type { FileLinks } from './file-links.ts';
import { type FileRights, FileUploads, type FileUploadsParts } from './file-uploads.ts';
import { TransferSlots } from './transfer-slots.ts';
import { type FileProblem, findProblem } from './verify-file.ts';

export interface FileTransfersParts extends FileUploadsParts, FileLimits {
  readonly catalogue: FileCatalogue;
  /** How long links to the storage are valid, in seconds; 0: the server sends all bytes itself. */
  readonly linkS: number;
  readonly links: FileLinks;
}

/** What administrators and backends find out about files. */
type FileCatalogue = Pick<Tidemark['files'], 'find' | 'list' | 'where' | 'waitingOn' | 'usage' | 'lost'>;

/** What the settings allow. */
export interface FileLimits {
  /** The largest file, in bytes. */
  readonly sizeMax: number;
  /** Bytes of all stored files that one user has sent. */
  readonly quotaBytes: number;
}

/** Everything that moves bytes of files. */
export class FileTransfers {
  readonly uploads: FileUploads;
  readonly ofBackend: BackendFiles;
  readonly catalogue: FileCatalogue;
  /** Links that calls to the backend carry. */
  readonly links: FileLinks;
  readonly slots = new TransferSlots();
  readonly limits: FileLimits;
  readonly engine: FileEngine;
  readonly #rights: FileRights;
  readonly #linkS: number;

  constructor(parts: FileTransfersParts) {
    this.uploads = new FileUploads(parts);
    this.ofBackend = new BackendFiles(parts);
    this.catalogue = parts.catalogue;
    this.links = parts.links;
    this.engine = parts.engine;
    this.limits = parts;
    this.#rights = parts.rights;
    this.#linkS = parts.linkS;
  }

  /** Opens a file for a user of a device. */
  openFor(user: string, sha256: string, request: DownloadRequest): Promise<Download> {
    const mayRead = async () => (await this.#rights.mayRead(user, sha256)) !== null;
    return this.#open(sha256, request, mayRead);
  }

  /** Opens a file for a backend or an administrator, who may read all. */
  openAny(sha256: string, request: DownloadRequest): Promise<Download> {
    return this.#open(sha256, request, async () => true);
  }

  #open(sha256: string, request: DownloadRequest, mayRead: () => Promise<boolean>): Promise<Download> {
    const from = { engine: this.engine, sha256: requireFileName(sha256), linkS: this.#linkS };
    return openDownload(from, request, mayRead);
  }

  /** Reads a stored file again. One that is not what it was is asked for again. */
  async verify(sha256: string): Promise<{ readonly size: number; readonly problem: FileProblem | null }> {
    const stored = await this.engine.stat(requireFileName(sha256));
    if (stored === null) throw fileNotFound();
    const problem = await findProblem(this.engine, sha256);
    if (problem !== null) await this.catalogue.lost(sha256);
    return { size: stored.size, problem };
  }

  /** Does what moves bytes for a caller, within what one caller may do at once. */
  async within<T>(caller: string, hasHungUp: () => boolean, work: () => Promise<T>): Promise<T> {
    const release = this.slots.take(caller);
    try {
      return await work();
    } catch (error) {
      // What arrived before the break is kept, and nobody waits for an answer.
      if (hasHungUp() && !(error instanceof Refusal)) throw new Refusal('request_timeout', 'the caller hung up');
      throw error;
    } finally {
      release();
    }
  }

  /** Sends a file to a caller; `onEnd` of the answer ends what the caller has under way. */
  async sendTo(caller: string, open: () => Promise<Download>): Promise<Download & { readonly onEnd: () => void }> {
    const onEnd = this.slots.take(caller);
    try {
      return { ...(await open()), onEnd };
    } catch (error) {
      onEnd();
      throw error;
    }
  }
}

function requireFileName(sha256: string): string {
  if (!isSha256(sha256)) throw fileNotFound();
  return sha256;
}
