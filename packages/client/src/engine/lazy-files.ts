import { FILES } from '../state/file-rows.ts';
import type { FilesUnderWay, FileWork, FileWorkParts, LoadFileWork } from './file-work.ts';

const NOTHING: FilesUnderWay = new Map();

/** The part that works on files, which is loaded when the device has some, or is to fetch some. */
export class LazyFiles {
  readonly #parts: FileWorkParts;
  readonly #import: LoadFileWork;
  #current: FileWork | null = null;
  #loading: Promise<FileWork> | null = null;
  #clearing: Promise<void> | null = null;
  #isStopped = false;

  constructor(parts: FileWorkParts, load: LoadFileWork) {
    this.#parts = parts;
    this.#import = load;
  }

  get underWay(): FilesUnderWay {
    return this.#current?.underWay ?? NOTHING;
  }

  /** Does something for the app. Bytes of an earlier user are deleted before. */
  async run(name: string, args: readonly unknown[]): Promise<unknown> {
    await this.clear();
    return (await this.#load()).run(name, args);
  }

  /** To be called when the state of the device may have changed. */
  follow(): void {
    if (this.#current !== null) this.#current.follow();
    else if (this.#state() !== undefined || this.#parts.options.files.prefetch !== undefined) {
      // If it cannot be loaded, the next change tries again.
      this.#load().then(
        (work) => work.follow(),
        () => undefined,
      );
    }
  }

  /** Deletes the bytes of files whose user has left. */
  async clear(): Promise<void> {
    if (this.#state() !== 'clear') return;
    this.#clearing ??= this.#clear().finally(() => {
      this.#clearing = null;
    });
    await this.#clearing;
  }

  stop(): void {
    this.#isStopped = true;
    this.#current?.stop();
  }

  #state() {
    return this.#parts.data.replica.reader.get('facts', FILES);
  }

  async #clear(): Promise<void> {
    const work = await this.#load();
    await work.clear();
    await this.#parts.data.replica.transact((tx) => tx.delete('facts', FILES));
  }

  async #load(): Promise<FileWork> {
    if (this.#current !== null) return this.#current;
    this.#loading ??= this.#import(this.#parts).finally(() => {
      this.#loading = null;
    });
    this.#current = await this.#loading;
    if (this.#isStopped) this.#current.stop();
    return this.#current;
  }
}
