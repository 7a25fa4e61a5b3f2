import { type FileReference, type FileValue, sameJson } from '@tidemark/protocol';
import { clientError } from '../client-error.ts';
import type { DeviceHost } from '../engine/device-host.ts';
import type { FileAccess, FileUrl, NewFile } from '../files/file-access.ts';
import type { FileContent } from '../files/file-content.ts';
import { fileRow, fileRows } from '../state/file-rows.ts';
import type { Observable } from '../view/observable.ts';
import { type FileState, fileState } from './file-state.ts';

/** A file as an attribute has it, or what is inside. */
export type AnyFile = FileValue | FileReference;

/** A file that the server does not have. */
export interface WaitingFile {
  readonly file: FileReference;
  readonly sinceMs: number;
  readonly state: FileState;
}

/** The files of a device: they are there at once, and travel beside the objects that refer to them. */
export class DeviceFiles {
  /** The files that the server does not have, in the order in which they were added. */
  readonly waiting: Observable<readonly WaitingFile[]>;
  readonly #host: DeviceHost;
  #access: Promise<FileAccess> | null = null;

  constructor(host: DeviceHost) {
    this.#host = host;
    this.waiting = this.#observe(() => this.#listWaiting());
  }

  /**
   * Stores a file, and returns the value for an attribute. It resolves when the bytes are stored on this device, and does not wait
   * for the network.
   */
  async add(content: FileContent, options: NewFile = {}): Promise<FileValue> {
    return (await this.#load()).add(content, options);
  }

  /** Returns the bytes as a `Blob`. What is not on the device is fetched; it rejects if that cannot be done now. */
  async blob(file: AnyFile): Promise<Blob> {
    return (await this.#load()).blob(referenceOf(file));
  }

  /**
   * Returns an address for pictures, sound, films and PDF, which is to be released when it is no longer shown. Other types are
   * addressed as mere bytes, because they could be pages with scripts.
   */
  async url(file: AnyFile): Promise<FileUrl> {
    return (await this.#load()).url(referenceOf(file));
  }

  /** Yields the bytes in pieces, for files that are too large for the memory. */
  async *pieces(file: AnyFile): AsyncGenerator<Uint8Array<ArrayBuffer>> {
    yield* (await this.#load()).pieces(referenceOf(file));
  }

  state(file: AnyFile): Observable<FileState> {
    const { sha256 } = referenceOf(file);
    return this.#observe((): FileState => this.#stateOf(sha256));
  }

  /** Sends a file again whose upload has failed. */
  async retry(file: AnyFile): Promise<void> {
    await this.#host.run('files', 'retry', referenceOf(file).sha256);
  }

  /** Deletes a file that the server does not have. Objects that refer to it will never have it, unless another device does. */
  async discard(file: AnyFile): Promise<void> {
    await this.#host.run('files', 'discard', referenceOf(file).sha256);
  }

  /** Loads the part for files at its first use. */
  #load(): Promise<FileAccess> {
    this.#access ??= this.#open().catch((error: unknown) => {
      // The next use tries again.
      this.#access = null;
      throw error;
    });
    return this.#access;
  }

  async #open(): Promise<FileAccess> {
    const { FileAccess } = await import('../files/file-access.ts').catch((error: unknown) => {
      throw clientError('unreachable', 'the part of the SDK for files could not be loaded', error);
    });
    return FileAccess.open(this.#host);
  }

  #stateOf(sha256: string): FileState {
    const { replica, role } = this.#host;
    return fileState(fileRow(replica.reader, sha256), role.filesUnderWay.get(sha256));
  }

  #listWaiting(): readonly WaitingFile[] {
    const waiting: WaitingFile[] = [];
    for (const [sha256, { size, type, name, waitsSinceMs }] of fileRows(this.#host.replica.reader)) {
      if (waitsSinceMs === undefined) continue;
      const file = { sha256, size, type, ...(name === undefined ? {} : { name }) };
      waiting.push({ file, sinceMs: waitsSinceMs, state: this.#stateOf(sha256) });
    }
    return waiting.sort((left, right) => left.sinceMs - right.sinceMs);
  }

  /** The value stays the same while it says the same. */
  #observe<T>(read: () => T): Observable<T> {
    let last: { readonly value: T } | null = null;
    return {
      getSnapshot: () => {
        const value = read();
        if (last === null || !sameJson(value as never, last.value as never)) last = { value };
        return last.value;
      },
      subscribe: this.#host.listeners.files.add,
    };
  }
}

function referenceOf(file: AnyFile): FileReference {
  const reference = '$file' in file ? file.$file : file;
  if (typeof reference?.sha256 === 'string') return reference;
  throw clientError('invalid_file', 'expected a file as `files.add` returns it');
}
