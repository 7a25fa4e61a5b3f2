import { type FileHandle, mkdir, open, readdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { JsonValue } from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import type { FileDirectory } from '../ports/file-directory.ts';
import type { CommitOptions, LocalRow, LocalStore, LocalWrite } from '../ports/local-store.ts';
import { RowMap } from '../state/row-map.ts';
import { lockFile } from './file-lock.ts';
import { HEADER, lineOf, readLog } from './log-lines.ts';
import { storeError } from './store-error.ts';

/** A file is compacted when at least so much of it, and half of it, is about rows that were replaced or deleted. */
const COMPACT_FROM_BYTES = 500_000;
/** Rows per line of a compacted file. */
const ROWS_PER_LINE = 500;
const FILE_NAME = /^device-(\d{1,15})\.log$/;

/**
 * Stores a device in a folder (Node.js). Each transaction is one line of a file, flushed to the disk before it
 * counts. From time to time the file is compacted: a new one without deleted rows replaces it. Whenever the process
 * dies, the folder holds the state after a whole transaction, including all that were reported.
 */
export async function openFileStore(folder: string): Promise<LocalStore> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const unlock = await lockFile(join(folder, 'lock'));
  try {
    return await FileStore.open(folder, unlock);
  } catch (error) {
    await unlock();
    throw error;
  }
}

interface Opened {
  readonly transactions: readonly (readonly LocalWrite[])[];
  readonly generation: number;
  readonly file: FileHandle;
  readonly bytes: number;
}

class FileStore implements LocalStore {
  readonly #folder: string;
  readonly #unlock: () => Promise<void>;
  readonly #rows = new RowMap<JsonValue>();
  #generation: number;
  #file: FileHandle;
  #bytes: number;
  /** How much of the file is about rows that were replaced or deleted, roughly. */
  #goneBytes = 0;
  /** After a compaction that failed, the next attempt comes when there is so much. */
  #compactAtBytes = COMPACT_FROM_BYTES;
  #work: Promise<void> = Promise.resolve();
  #end: ClientError | null = null;
  #files: Promise<FileDirectory> | null = null;

  private constructor(folder: string, unlock: () => Promise<void>, opened: Opened) {
    this.#folder = folder;
    this.#unlock = unlock;
    for (const writes of opened.transactions) this.#apply(writes);
    this.#generation = opened.generation;
    this.#file = opened.file;
    this.#bytes = opened.bytes;
  }

  static async open(folder: string, unlock: () => Promise<void>): Promise<FileStore> {
    const generations = await removeLeftovers(folder);
    const generation = generations.at(-1) ?? 0;
    if (generations.length === 0) await createFile(folder, generation);
    const path = fileOf(folder, generation);
    const { transactions, validBytes } = readLog(await readFile(path), path);
    const file = await open(path, 'r+');
    await file.truncate(validBytes);
    return new FileStore(folder, unlock, { transactions, generation, file, bytes: validBytes });
  }

  async load(): Promise<readonly LocalRow[]> {
    this.#requireOpen();
    return this.#rows.rows();
  }

  async commit(
    writes: readonly LocalWrite[],
    { scrubs = false, isRepeatable = false }: CommitOptions = {},
  ): Promise<void> {
    this.#requireOpen();
    const done = this.#work.then(() => {
      // A compaction may have failed meanwhile. A store that is being closed finishes its commits.
      if (this.#end?.code === 'store_failed') throw this.#end;
      return scrubs ? this.#rewrite(writes) : this.#append(writes, !isRepeatable);
    });
    this.#work = done.catch(() => undefined).then(() => this.#compactWhenGrown());
    await done.catch((error: unknown) => {
      throw storeError(error);
    });
  }

  files(): Promise<FileDirectory> {
    this.#files ??= import('./file-folder.ts').then(({ openFolderFiles }) =>
      openFolderFiles(join(this.#folder, 'files')),
    );
    return this.#files;
  }

  async close(): Promise<void> {
    if (this.#end?.code === 'closed') return;
    this.#end = clientError('closed', 'the store is closed');
    await this.#work;
    await this.#file.close();
    await this.#unlock();
  }

  /** Lines are read in their order up to the first incomplete one, so flushing a line flushes those before it. */
  async #append(writes: readonly LocalWrite[], isFlushed: boolean): Promise<void> {
    const line = lineOf(writes);
    try {
      await writeAll(this.#file, line, this.#bytes);
      if (isFlushed) await this.#file.datasync();
    } catch (error) {
      await this.#truncate();
      throw error;
    }
    this.#bytes += line.length;
    this.#apply(writes);
  }

  /** Applies the writes by a new file, because lines of the old one hold what was deleted. */
  async #rewrite(writes: readonly LocalWrite[]): Promise<void> {
    const rows = new RowMap<JsonValue>();
    rows.apply(this.#rows.rows());
    rows.apply(writes);
    await this.#replaceFile(rows.rows());
    this.#rows.apply(writes);
    this.#goneBytes = 0;
  }

  #apply(writes: readonly LocalWrite[]): void {
    for (const { table, key, value } of writes) {
      const before = this.#rows.get(table, key);
      if (before !== undefined) this.#goneBytes += JSON.stringify(before).length;
      this.#rows.set(table, key, value);
    }
  }

  /** Removes a line that was not written completely, or may not be on the disk. */
  async #truncate(): Promise<void> {
    try {
      await this.#file.truncate(this.#bytes);
      await this.#file.datasync();
    } catch (error) {
      this.#end ??= diskFailed(error);
    }
  }

  async #compactWhenGrown(): Promise<void> {
    if (this.#end !== null || this.#goneBytes < Math.max(this.#compactAtBytes, this.#bytes / 2)) return;
    try {
      await this.#replaceFile(this.#rows.rows());
    } catch {
      // The old file stays in use.
      this.#compactAtBytes = this.#goneBytes * 2;
    }
  }

  async #replaceFile(rows: readonly LocalRow[]): Promise<void> {
    const generation = this.#generation + 1;
    const { file, bytes } = await writeFile(this.#folder, generation, rows);
    try {
      await nameFile(this.#folder, generation);
    } catch (error) {
      if (error instanceof ClientError) this.#end ??= error;
      await closeQuietly(file);
      throw error;
    }
    const old = { file: this.#file, path: fileOf(this.#folder, this.#generation) };
    this.#file = file;
    this.#generation = generation;
    this.#bytes = bytes;
    this.#goneBytes = 0;
    this.#compactAtBytes = COMPACT_FROM_BYTES;
    await removeFile(old.file, old.path);
  }

  #requireOpen(): void {
    if (this.#end !== null) throw this.#end;
  }
}

/** Writes a new file and flushes it. It counts when it has its final name; the handle stays valid then. */
async function writeFile(folder: string, generation: number, rows: readonly LocalRow[]) {
  const file = await open(`${fileOf(folder, generation)}.new`, 'w', 0o600);
  try {
    await file.writeFile(HEADER);
    for (let at = 0; at < rows.length; at += ROWS_PER_LINE) {
      await file.writeFile(lineOf(rows.slice(at, at + ROWS_PER_LINE)));
    }
    await file.sync();
    const { size: bytes } = await file.stat();
    return { file, bytes };
  } catch (error) {
    await closeQuietly(file);
    throw error;
  }
}

/**
 * Gives a new file its final name and flushes the folder; Windows flushes it by itself. The folder is opened first, so that
 * only the disk itself can fail once the file has its name. Then nobody knows which file a restart will find, and the error
 * is a `ClientError`: no file may get another commit.
 */
async function nameFile(folder: string, generation: number): Promise<void> {
  const path = fileOf(folder, generation);
  const handle = process.platform === 'win32' ? null : await open(folder, 'r');
  try {
    await rename(`${path}.new`, path);
    await handle?.sync().catch(async (error: unknown) => {
      await rm(path, { force: true }).catch(() => undefined);
      throw diskFailed(error);
    });
  } finally {
    if (handle !== null) await closeQuietly(handle);
  }
}

async function createFile(folder: string, generation: number): Promise<void> {
  const { file } = await writeFile(folder, generation, []);
  await file.close();
  await nameFile(folder, generation);
}

/** Closes a file of which nothing more is expected, so that a failure does not hide another error, or a success. */
async function closeQuietly(file: FileHandle): Promise<void> {
  await file.close().catch(() => undefined);
}

function diskFailed(error: unknown): ClientError {
  return clientError('store_failed', 'writing to the disk failed; open the device again', error);
}

/** Removes files of dead processes. Returns the complete generations, oldest first. */
async function removeLeftovers(folder: string): Promise<readonly number[]> {
  const names = await readdir(folder);
  for (const name of names) if (name.endsWith('.log.new')) await rm(join(folder, name), { force: true });
  const generations = names.flatMap((name) => FILE_NAME.exec(name)?.[1] ?? []).map(Number);
  generations.sort((left, right) => left - right);
  for (const old of generations.slice(0, -1)) await rm(fileOf(folder, old), { force: true });
  return generations;
}

/** The file is emptied first, because some systems do not remove a file that another program has open. */
async function removeFile(file: FileHandle, path: string): Promise<void> {
  try {
    await file.truncate(0);
    await file.close();
    await rm(path, { force: true });
  } catch {
    // The new file counts already; the next start removes what is left of the old one.
  }
}

async function writeAll(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    const { bytesWritten } = await file.write(bytes, at, bytes.length - at, position + at);
    at += bytesWritten;
  }
}

function fileOf(folder: string, generation: number): string {
  return join(folder, `device-${generation}.log`);
}
