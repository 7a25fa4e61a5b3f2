import type { ClientError, CommitOptions, DiskPart, LocalRow, LocalStore, LocalWrite } from '@tidemark/client';
import { DatabaseSeries, type SqliteDatabases } from './database-series.ts';
import { type Opened, openNewest, type ReplaceOptions, replace } from './replace-database.ts';
import { markAsBegun } from './schema.ts';
import { isDamage } from './sqlite-error.ts';
import type { SqliteStoreOptions } from './sqlite-store.ts';

export interface HealingStoreOptions extends SqliteStoreOptions, ReplaceOptions {}

/** See `openHealingSqliteStore`. */
export async function openHealingStore(
  databases: SqliteDatabases,
  { files, ...options }: HealingStoreOptions,
): Promise<LocalStore> {
  const series = new DatabaseSeries(databases);
  const store = new HealingStore(series, options, await openNewest(series, options));
  return files === undefined ? store : Object.assign(store, { files: async () => files });
}

type LoadRows = (store: LocalStore) => Promise<readonly LocalRow[]>;

class HealingStore implements LocalStore {
  readonly disk: DiskPart;
  readonly #series: DatabaseSeries;
  readonly #options: ReplaceOptions;
  #opened: Opened;
  #isLoading = false;
  #onLost: (error: ClientError) => void = () => undefined;
  /** Present once damage was noticed behind the loading. */
  #damage: ClientError | null = null;
  /** The mark that lets the next opening replace the database. */
  #marking: Promise<void> = Promise.resolve();

  constructor(series: DatabaseSeries, options: ReplaceOptions, opened: Opened) {
    this.#series = series;
    this.#options = options;
    this.#opened = this.#watched(opened);
    this.disk = this.#diskPart();
  }

  load(onFirst?: (rows: readonly LocalRow[]) => void): Promise<readonly LocalRow[]> {
    return this.#load((store) => store.load(onFirst));
  }

  commit(writes: readonly LocalWrite[], options?: CommitOptions): Promise<void> {
    return this.#opened.store.commit(writes, options);
  }

  async close(): Promise<void> {
    await this.#opened.store.close();
    await this.#marking;
  }

  onLost(listener: (error: ClientError) => void): void {
    this.#onLost = listener;
    const damage = this.#damage;
    // Whoever registers is ready then.
    if (damage !== null) void Promise.resolve().then(() => listener(damage));
  }

  #diskPart(): DiskPart {
    const part = () => diskOf(this.#opened.store);
    return {
      load: (choose) => this.#load((store) => diskOf(store).load(choose)),
      read: (keys) => part().read(keys),
      scan: (scan) => part().scan(scan),
      count: (scan, max) => part().count(scan, max),
      measure: (first) => part().measure(first),
      addIndex: (source, path) => part().addIndex(source, path),
    };
  }

  /** Whoever loads has nothing yet, so another database can still take the place of this one. */
  async #load(rows: LoadRows): Promise<readonly LocalRow[]> {
    this.#isLoading = true;
    try {
      return await rows(this.#opened.store).catch(async (error: unknown) => {
        if (!isDamage(error)) throw error;
        const { number, store } = this.#opened;
        await store.close().catch(() => undefined);
        this.#opened = this.#watched(
          await replace(this.#series, this.#options, { from: number, to: number + 1, error }),
        );
        return rows(this.#opened.store);
      });
    } finally {
      this.#isLoading = false;
    }
  }

  #watched(opened: Opened): Opened {
    opened.store.onLost?.((error) => {
      if (this.#isLoading) return;
      this.#damage = error;
      this.#marking = this.#mark(opened.number + 1);
      this.#onLost(error);
    });
    return opened;
  }

  /** Without the mark, the next opening replaces the database if it meets the damage, too. */
  async #mark(number: number): Promise<void> {
    try {
      const driver = await this.#series.open(number);
      try {
        await markAsBegun(driver);
      } finally {
        await driver.close();
      }
    } catch {
      // The storage may be damaged as a whole. What the app is told stays the same.
    }
  }
}

function diskOf({ disk }: LocalStore): DiskPart {
  if (disk === undefined) throw new Error('a SQLite store has a disk part');
  return disk;
}
