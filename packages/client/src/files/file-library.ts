import type { FileReference } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import type { FilesUnderWay, FileWork, FileWorkParts } from '../engine/file-work.ts';
import type { LocalStore } from '../ports/local-store.ts';
import { FILE, FILES, type FileRow, fileRow, fileRows, putFileRow } from '../state/file-rows.ts';
import { requireWriter, type User } from '../state/owner.ts';
import { FileBoard } from './file-board.ts';
import { FileBodies, writtenBody } from './file-bodies.ts';
import { FileCache } from './file-cache.ts';
import { FileDownloads } from './file-downloads.ts';
import { FilePrefetch } from './file-prefetch.ts';
import { FileUploads, mayUseNetwork } from './file-uploads.ts';

/** A file whose bytes the app's tab has stored. */
export interface AddedFile {
  readonly sha256: string;
  readonly row: FileRow;
  readonly writer: User;
}

/** What the tab that leads does with files, for the app in any tab. */
export interface FileCommands {
  /** Notes that there may be bytes of files from now on. */
  begin(): Promise<void>;
  /** Takes a file whose bytes are stored. Resolves to false if the device had them already. */
  keep(added: AddedFile): Promise<boolean>;
  fetch(reference: FileReference): Promise<void>;
  noteUsed(sha256: string): Promise<void>;
  /** Deletes a body whose bytes cannot be read, unless the server does not have them. */
  forget(sha256: string, body: string): Promise<void>;
  retry(sha256: string): Promise<void>;
  discard(sha256: string): Promise<void>;
}

/** The files of a device: what waits to be sent, what is fetched, and what is kept. */
export class FileLibrary implements FileWork {
  readonly #parts: FileWorkParts;
  readonly #bodies: FileBodies;
  readonly #board: FileBoard;
  readonly #uploads: FileUploads;
  readonly #downloads: FileDownloads;
  readonly #cache: FileCache;
  readonly #prefetch: FilePrefetch;
  readonly #commands: FileCommands;

  private constructor(parts: FileWorkParts, bodies: FileBodies) {
    const { data } = parts;
    this.#parts = parts;
    this.#bodies = bodies;
    const board = new FileBoard(() => data.listeners.files.notify());
    const trim = () => void this.#cache.trim().catch(() => undefined);
    this.#board = board;
    this.#uploads = new FileUploads(parts, bodies, board, trim);
    this.#downloads = new FileDownloads({ parts, bodies, board, onFetched: trim });
    this.#cache = new FileCache(parts, bodies, (sha256) => this.#downloads.wanted.has(sha256));
    this.#prefetch = new FilePrefetch({
      parts,
      mayFetch: () => mayUseNetwork(parts),
      bytesFree: () => this.#cache.bytesFree,
      fetch: (references) => this.#downloads.fetchInAdvance(references),
    });
    this.#commands = {
      begin: () => this.#begin(),
      keep: (added) => this.#keep(added),
      fetch: (reference) => this.#downloads.fetch(reference),
      noteUsed: (sha256) => this.#cache.noteUsed(sha256),
      forget: (sha256, body) => this.#cache.drop([sha256], body),
      retry: (sha256) => this.#retry(sha256),
      discard: (sha256) => this.#discard(sha256),
    };
  }

  static async open(parts: FileWorkParts): Promise<FileLibrary> {
    const bodies = await openBodies(parts.options);
    const library = new FileLibrary(parts, bodies);
    // What a process that died has left behind costs room only.
    library.#deleteOrphans().catch(() => undefined);
    return library;
  }

  get underWay(): FilesUnderWay {
    return this.#board.shown;
  }

  run(name: string, args: readonly unknown[]): Promise<unknown> {
    const command = this.#commands[name as keyof FileCommands] as (...given: readonly unknown[]) => Promise<unknown>;
    return command(...args);
  }

  follow(): void {
    this.#uploads.follow();
    this.#downloads.follow();
    this.#prefetch.follow();
  }

  async clear(): Promise<void> {
    this.#uploads.stop();
    this.#downloads.stop();
    this.#board.clear();
    await this.#bodies.deleteAll();
  }

  stop(): void {
    this.#uploads.stop();
    this.#downloads.stop();
    this.#prefetch.stop();
  }

  async #begin(): Promise<void> {
    await this.#parts.data.replica.transact((tx) => {
      if (tx.get('facts', FILES) === undefined) tx.put('facts', FILES, 'used');
    });
  }

  async #keep({ sha256, row, writer }: AddedFile): Promise<boolean> {
    const isWhole = await this.#bodies.has(row);
    const replaced = await this.#parts.data.replica.transact((tx) => {
      requireWriter(tx, writer);
      // The user may have signed out, which deletes all bytes, and in again.
      if (!isWhole || tx.get('facts', FILES) !== 'used')
        throw clientError('signed_out', 'the user has signed out while the file was added');
      const known = fileRow(tx, sha256);
      const isKnown = known !== undefined && known.bytes === known.size && !isDamaged(known);
      const { error: _, ...kept } = isKnown ? known : row;
      // Also if the server had it once: it deletes what no object refers to.
      const waitsSinceMs = known?.waitsSinceMs ?? row.usedAtMs;
      putFileRow(tx, sha256, { ...kept, waitsSinceMs, usedAtMs: row.usedAtMs });
      // A command is repeated if the tab that led is gone: the file may be there by this very body.
      return { isTaken: kept.body === row.body, other: kept.body === known?.body ? undefined : known };
    });
    // The file is kept whatever becomes of those: what is left of them is deleted as of a process that died.
    if (replaced.other !== undefined) await this.#bodies.delete([writtenBody(replaced.other)]).catch(() => undefined);
    this.#uploads.hurry(sha256);
    this.#uploads.follow();
    return replaced.isTaken;
  }

  /** Tries an upload again that has failed, or is pausing. */
  async #retry(sha256: string): Promise<void> {
    await this.#parts.data.replica.transact((tx) => {
      const { error: _, ...row } = this.#unsent(fileRow(tx, sha256));
      putFileRow(tx, sha256, row);
    });
    this.#uploads.hurry(sha256);
    this.#uploads.follow();
  }

  async #discard(sha256: string): Promise<void> {
    const row = await this.#parts.data.replica.transact((tx) => {
      const unsent = this.#unsent(fileRow(tx, sha256));
      tx.delete('facts', [FILE, sha256]);
      return unsent;
    });
    this.#uploads.drop(sha256);
    await this.#bodies.delete([row]);
  }

  #unsent(row: FileRow | undefined): FileRow {
    if (row?.waitsSinceMs !== undefined) return row;
    throw clientError('unknown_upload', 'no such file waits to be sent');
  }

  async #deleteOrphans(): Promise<void> {
    const { reader } = this.#parts.data.replica;
    const known = new Set([...fileRows(reader)].map(([, { body }]) => body));
    await this.#bodies.deleteOrphans((body) => known.has(body));
  }
}

/** Whether the server has refused the bytes that are stored, or they cannot be read. */
function isDamaged({ error }: FileRow): boolean {
  return error?.code === 'store_damaged' || error?.code === 'file_hash_mismatch';
}

/** Opens the bytes that a store keeps. */
export async function openBodies({ store, platform }: Pick<FileWorkParts['options'], 'store' | 'platform'>) {
  return new FileBodies(await directoryOf(store), platform);
}

async function directoryOf(store: LocalStore) {
  const detail = 'the store of this device keeps no files: open it with a directory for them';
  if (store.files === undefined) throw clientError('files_unsupported', detail);
  return store.files();
}
