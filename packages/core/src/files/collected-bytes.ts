import type { FileBytes } from '../ports/file-bytes.ts';

/** Is told what the engine failed at. */
export type OnFailed = (what: string, error: unknown) => void;

type Listing = Parameters<FileBytes['list']>[0];

/** The engine as the collector uses it: a failure at one file is reported, and everything else goes on. */
export class CollectedBytes {
  readonly #engine: FileBytes;
  readonly #onFailed: OnFailed;

  /** Without `onFailed` every failure is thrown. */
  constructor(engine: FileBytes, onFailed: OnFailed = rethrow) {
    this.#engine = engine;
    this.#onFailed = onFailed;
  }

  unfinishedRemovals(): Promise<readonly string[]> {
    return this.#attempt('the list of unfinished removals', () => this.#engine.unfinishedRemovals(), []);
  }

  list(page: Listing): ReturnType<FileBytes['list']> {
    return this.#attempt('the list of files', () => this.#engine.list(page), []);
  }

  listUploads(page: Listing): ReturnType<FileBytes['listUploads']> {
    return this.#attempt('the list of uploads', () => this.#engine.listUploads(page), []);
  }

  /** False: the engine failed. */
  dropUpload(id: string): Promise<boolean> {
    return this.#attempt(`the upload ${id}`, () => this.#engine.dropUpload(id).then(() => true), false);
  }

  /** False: the engine failed. A failure of the store, which `isWanted` asks, is thrown. */
  async remove(sha256: string, isWanted: () => Promise<boolean>): Promise<boolean> {
    let isAsking = false;
    const ask = async () => {
      isAsking = true;
      const answer = await isWanted();
      isAsking = false;
      return answer;
    };
    try {
      await this.#engine.remove(sha256, ask);
      return true;
    } catch (error) {
      if (isAsking) throw error;
      this.#onFailed(`the file ${sha256}`, error);
      return false;
    }
  }

  async #attempt<T>(what: string, work: () => Promise<T>, otherwise: T): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#onFailed(what, error);
      return otherwise;
    }
  }
}

function rethrow(_what: string, error: unknown): never {
  throw error;
}
