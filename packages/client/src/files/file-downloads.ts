import type { FileReference } from '@tidemark/protocol';
import { type ClientError, clientError } from '../client-error.ts';
import type { FileWorkParts } from '../engine/file-work.ts';
import { transactIn, type WorkScope } from '../engine/work-scope.ts';
import { FILE_MISSING_ATTEMPTS_MAX, FILE_PIECE_BYTES, FILES_FETCHED_AT_ONCE } from '../limits.ts';
import { FILES, type FileRow, fileRow, putFileRow } from '../state/file-rows.ts';
import type { SessionCaller } from '../transport/session-caller.ts';
import { fetchPiece } from './download-file.ts';
import type { FileBoard } from './file-board.ts';
import { type FileBodies, type FileBody, writtenBody } from './file-bodies.ts';
import { FileHash } from './file-hash.ts';
import { mayUseNetwork } from './file-uploads.ts';
import { type Attempt, TransferQueue } from './transfer-queue.ts';

interface Wanted {
  readonly reference: FileReference;
  /** False: it is fetched in advance, behind all others. */
  isAsked: boolean;
  readonly waiters: { readonly resolve: () => void; readonly reject: (error: ClientError) => void }[];
}

interface FileDownloadsParts {
  readonly parts: FileWorkParts;
  readonly bodies: FileBodies;
  readonly board: FileBoard;
  /** Called when the device has another file. */
  readonly onFetched: () => void;
}

/** Fetches files that the app asks for, or that are to be there in advance, some at the same time. */
export class FileDownloads {
  readonly #parts: FileDownloadsParts;
  readonly #wanted = new Map<string, Wanted>();
  readonly #queue: TransferQueue;

  constructor(parts: FileDownloadsParts) {
    this.#parts = parts;
    const { data, isConnected } = parts.parts;
    this.#queue = new TransferQueue({
      platform: data.platform,
      atOnce: FILES_FETCHED_AT_ONCE,
      wanted: () => this.#inOrder(),
      mayRun: isConnected,
      isUrgent: (sha256) => this.#wanted.get(sha256)?.isAsked === true,
      transfer: (sha256, attempt) => this.#fetch(sha256, attempt),
      onFailed: async (sha256, error, failures) => this.#takeFailure(sha256, error, failures),
    });
  }

  /** The files that are being fetched. */
  get wanted(): { has(sha256: string): boolean } {
    return this.#wanted;
  }

  follow(): void {
    if (!this.#parts.parts.isConnected()) this.#leave(offline());
    this.#queue.follow();
  }

  stop(): void {
    this.#leave(clientError('closed', 'the device is closed'));
    this.#queue.stop();
  }

  /** Resolves when the device has the file. Rejects if it cannot be had now. */
  fetch(reference: FileReference): Promise<void> {
    if (!this.#parts.parts.isConnected()) return Promise.reject(offline());
    return new Promise((resolve, reject) => {
      const wanted = this.#add(reference);
      wanted.isAsked = true;
      wanted.waiters.push({ resolve, reject });
      // The app wants it now.
      this.#queue.hurry(reference.sha256);
      this.#queue.follow();
    });
  }

  /** Fetches files for which nobody waits. */
  fetchInAdvance(references: readonly FileReference[]): void {
    for (const reference of references) this.#add(reference);
    this.#queue.follow();
  }

  #add(reference: FileReference): Wanted {
    const wanted = this.#wanted.get(reference.sha256) ?? { reference, isAsked: false, waiters: [] };
    this.#wanted.set(reference.sha256, wanted);
    return wanted;
  }

  /** What the app asks for comes first. The others wait while the network is not to be used for them. */
  #inOrder(): string[] {
    const mayAll = mayUseNetwork(this.#parts.parts);
    const wanted = [...this.#wanted].filter(([, { isAsked }]) => isAsked || mayAll);
    return wanted.sort(([, left], [, right]) => Number(right.isAsked) - Number(left.isAsked)).map(([sha256]) => sha256);
  }

  /** Nothing can be fetched any more. What is to be there in advance is asked for again. */
  #leave(error: ClientError): void {
    for (const [sha256, { waiters }] of this.#wanted) {
      this.#parts.board.end(sha256);
      for (const { reject } of waiters) reject(error);
    }
    this.#wanted.clear();
  }

  async #fetch(sha256: string, { signal, onAdvance }: Attempt): Promise<void> {
    const { sessions, network } = this.#parts.parts;
    const [wanted, session] = [this.#wanted.get(sha256), sessions.current()];
    if (wanted === undefined || session === null) return;
    signal.addEventListener('abort', () => this.#parts.board.end(sha256));
    const { caller } = await network.load();
    const scope = { userId: session.userId, clientId: session.clientId, signal };
    // A file without bytes is complete from the beginning.
    if (wanted.reference.size === 0) await this.#verify(sha256, { size: 0, body: '' });
    let row = await this.#begin(wanted.reference, scope);
    while (row.bytes < row.size) {
      this.#parts.board.show(sha256, 'downloading', row.bytes / row.size);
      row = await this.#fetchNext(sha256, row, caller, scope);
      onAdvance();
    }
    this.#end(sha256);
    this.#parts.onFetched();
  }

  /** Returns the row of a file that is to be fetched, or goes on being fetched. */
  async #begin({ sha256, size, type, name }: FileReference, scope: WorkScope): Promise<FileRow> {
    const { bodies, parts } = this.#parts;
    const { replica, platform } = parts.data;
    const found = fileRow(replica.reader, sha256);
    if (found !== undefined && mayGoOn(found, size)) return found;
    const named = name === undefined ? { type } : { type, name };
    const row = { size, ...named, body: bodies.newBody(), bytes: 0, usedAtMs: platform.nowMs() };
    const { begun, other } = await transactIn(replica, scope, (tx) => {
      // The app may have added the file itself meanwhile.
      const known = fileRow(tx, sha256);
      if (known !== undefined && mayGoOn(known, size)) return { begun: known };
      const state = tx.get('facts', FILES);
      // The files of an earlier user are not deleted yet.
      if (state === 'clear') throw unwanted();
      if (state === undefined) tx.put('facts', FILES, 'used');
      putFileRow(tx, sha256, row);
      return { begun: row, other: known };
    });
    if (other !== undefined) await bodies.delete([writtenBody(other)]);
    return begun;
  }

  async #fetchNext(
    sha256: string,
    row: FileRow,
    caller: Pick<SessionCaller, 'exchange'>,
    scope: WorkScope,
  ): Promise<FileRow> {
    const { bodies, parts } = this.#parts;
    const { signal } = scope;
    const { size, body } = row;
    const piece = Math.floor(row.bytes / FILE_PIECE_BYTES);
    const fetched = await fetchPiece({ caller, sha256, size, piece, signal });
    if (signal.aborted) throw unwanted();
    await bodies.write(body, piece, fetched);
    const bytes = Math.min(size, (piece + 1) * FILE_PIECE_BYTES);
    if (bytes === size) await this.#verify(sha256, row);
    return transactIn(parts.data.replica, scope, (tx) => {
      const known = fileRow(tx, sha256);
      if (known === undefined) throw unwanted();
      if (known.body !== body) return known;
      const next = { ...known, bytes, usedAtMs: parts.data.platform.nowMs() };
      putFileRow(tx, sha256, next);
      return next;
    });
  }

  /** Checks what is stored, so that the device never takes other bytes for the file. */
  async #verify(sha256: string, row: FileBody): Promise<void> {
    const { bodies, parts } = this.#parts;
    const hash = new FileHash(parts.data.platform);
    for await (const piece of bodies.pieces(row)) await hash.update(piece);
    if ((await hash.hex()) === sha256) return;
    await parts.data.replica.transact((tx) => {
      if (fileRow(tx, sha256)?.body === row.body) tx.delete('facts', ['file', sha256]);
    });
    await bodies.delete([row]);
    throw clientError('bad_answer', 'the bytes of the file are not those that its hash names');
  }

  #end(sha256: string): void {
    const { waiters = [] } = this.#wanted.get(sha256) ?? {};
    this.#wanted.delete(sha256);
    this.#parts.board.end(sha256);
    for (const { resolve } of waiters) resolve();
  }

  /** Returns whether another attempt is made. */
  #takeFailure(sha256: string, error: ClientError, failures: number): boolean {
    const { board, parts } = this.#parts;
    if (error.code === 'sign_in_required' || error.code === 'signed_out') parts.onSessionEnded(error);
    if (mayPass(error)) {
      board.end(sha256);
      return true;
    }
    const { waiters = [] } = this.#wanted.get(sha256) ?? {};
    board.fail(sha256, error);
    for (const { reject } of waiters.splice(0)) reject(error);
    // An object may arrive before its file: whoever shows the file learns of it by its state.
    if (error.code === 'file_not_found' && failures < FILE_MISSING_ATTEMPTS_MAX) return true;
    this.#wanted.delete(sha256);
    return false;
  }
}

/** A file that is not complete may have been begun for a reference with a wrong size, with which it never would be. */
function mayGoOn(row: FileRow, size: number): boolean {
  return row.bytes === row.size || row.size === size;
}

/** Statuses of answers that are different later. */
const PASSING_STATUS: ReadonlySet<number> = new Set([401, 408, 423, 425, 429]);

function mayPass({ code, status }: ClientError): boolean {
  if (status !== null) return status >= 500 || PASSING_STATUS.has(status);
  return code === 'unreachable' || code === 'sign_in_required' || code === 'aborted';
}

function unwanted(): ClientError {
  return clientError('aborted', 'the file is not wanted any more');
}

function offline(): ClientError {
  return clientError('offline', 'the file is not on this device, and the device is offline');
}
