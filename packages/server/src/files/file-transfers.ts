import type { Tidemark } from '@tidemark/core';
import { type FileEngine, isSha256 } from '@tidemark/files';
import { Refusal } from '@tidemark/protocol';
import { BackendFiles } from './backend-files.ts';
import { type Download, type DownloadRequest, fileNotFound, openDownload } from './file-downloads.ts';
import type { FileLinks } from './file-links.ts';
import { asRefusals, type FileRights, FileUploads, type FileUploadsParts } from './file-uploads.ts';
import { TransferSlots } from './transfer-slots.ts';
import { type FileProblem, findProblem } from './verify-file.ts';

export interface FileTransfersParts extends FileUploadsParts, FileLimits {
  readonly catalogue: FileCatalogue;
  /** How long links to the storage are valid, in seconds; 0: the server sends all bytes itself. */
  readonly linkS: number;
  readonly links: FileLinks;
  /** Called when a file that was read again is not what it was. */
  readonly onDamaged: (sha256: string, problem: FileProblem) => void;
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
  readonly #onDamaged: FileTransfersParts['onDamaged'];

  constructor(parts: FileTransfersParts) {
    this.uploads = new FileUploads(parts);
    this.ofBackend = new BackendFiles(parts);
    this.catalogue = parts.catalogue;
    this.links = parts.links;
    this.engine = parts.engine;
    this.limits = parts;
    this.#rights = parts.rights;
    this.#linkS = parts.linkS;
    this.#onDamaged = parts.onDamaged;
  }

  /** Opens a file for a user of a device. */
  openFor(user: string, sha256: string, request: DownloadRequest): Promise<Download> {
    const mayRead = async () => (await this.#rights.mayRead(user, sha256)) !== null;
    return this.#open(sha256, request, mayRead);
  }

  /** Opens a file for a backend or an administrator, who may read all. Some callers cannot follow links to the storage. */
  openAny(sha256: string, request: DownloadRequest, mayLink = true): Promise<Download> {
    return this.#open(sha256, request, async () => true, mayLink);
  }

  #open(sha256: string, request: DownloadRequest, mayRead: () => Promise<boolean>, mayLink = true): Promise<Download> {
    // What was stored is missing from now on, so that a device which still has it sends it again.
    const onMissing = () => this.catalogue.lost(sha256);
    const from = { engine: this.engine, sha256: requireFileName(sha256), linkS: mayLink ? this.#linkS : 0, onMissing };
    return openDownload(from, request, mayRead);
  }

  /** Reads a stored file again. One that is not what it was is asked for again. */
  async verify(sha256: string): Promise<{ readonly size: number; readonly problem: FileProblem | null }> {
    requireFileName(sha256);
    const stored = await asRefusals(() => this.engine.stat(sha256));
    if (stored === null) return this.#noteMissing(sha256);
    const problem = await findProblem(this.engine, sha256);
    if (problem !== null) {
      this.#onDamaged(sha256, problem);
      await this.#forget(sha256);
    }
    return { size: stored.size, problem };
  }

  async #noteMissing(sha256: string): Promise<{ readonly size: number; readonly problem: FileProblem }> {
    const known = await this.catalogue.find(sha256);
    if (known?.is_stored !== true) throw fileNotFound();
    await this.catalogue.lost(sha256);
    this.#onDamaged(sha256, 'missing');
    return { size: known.size, problem: 'missing' };
  }

  /** Removes bytes that are not those of the file, unless somebody has sent the right ones meanwhile. */
  async #forget(sha256: string): Promise<void> {
    await this.catalogue.lost(sha256);
    const isWanted = async () => (await this.catalogue.find(sha256))?.is_stored === true;
    await asRefusals(() => this.engine.remove(sha256, isWanted));
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
