import { type ClientError, clientError } from '../client-error.ts';
import {
  answered,
  beginNewLog,
  type IndexedDb,
  type IndexedDbFactory,
  type IndexedDbTransaction,
} from './indexeddb.ts';

interface ConnectionParts {
  readonly factory: IndexedDbFactory;
  readonly name: string;
  readonly version: number;
  /** A name that no other tab uses. */
  readonly owner: string;
  /** Tells whether a database that was opened again is the one that was open before. */
  readonly isSame: (db: IndexedDb) => Promise<boolean>;
}

type TransactionArguments = Parameters<IndexedDb['transaction']>;

/**
 * A connection to a database. Browsers close it when they delete the data of a site, and some when the page is in the
 * background. Then it is opened again. If the database is gone, or cannot be opened, the connection is lost for good.
 */
export class IndexedDbConnection {
  readonly #parts: ConnectionParts;
  #db: IndexedDb;
  /** Null: the connection is open, as far as is known. */
  #reopening: Promise<void> | null = null;
  /** Null: not begun yet. What is reported as stored must not be at the end of a log that a kill has torn. */
  #newLog: Promise<void> | null = null;
  #end: ClientError | null = null;
  #onLost: (error: ClientError) => void = () => undefined;

  constructor(db: IndexedDb, parts: ConnectionParts) {
    this.#parts = parts;
    this.#db = this.#watch(db);
  }

  get newLog(): Promise<void> | null {
    return this.#newLog;
  }

  beginNewLog(): void {
    const { factory, name, owner } = this.#parts;
    this.#newLog ??= beginNewLog(factory, `${name}:empty:${owner}`);
  }

  async begin(...given: TransactionArguments): Promise<IndexedDbTransaction> {
    await this.#reopening;
    this.requireOpen();
    const tx = beginIfOpen(this.#db, given);
    if (tx !== null) return tx;
    await this.#reopen();
    this.requireOpen();
    return this.#db.transaction(...given);
  }

  /**
   * Does work in a transaction. If the browser closes the connection meanwhile, it is done again in another one, since nobody
   * knows what was stored: work must be the same when it is done twice.
   */
  async run(given: TransactionArguments, work: (tx: IndexedDbTransaction) => Promise<void>): Promise<void> {
    const tx = await this.begin(...given);
    try {
      await work(tx);
    } catch (error) {
      const isOpen = this.#reopening === null && tx.db === this.#db && beginIfOpen(this.#db, given) !== null;
      if (isOpen || this.#end !== null) throw error;
      await work(await this.begin(...given));
    }
  }

  close(): void {
    this.#end = clientError('closed', 'the store is closed');
    this.#db.close();
  }

  onLost(listener: (error: ClientError) => void): void {
    this.#onLost = listener;
    if (this.#end?.code === 'store_failed') listener(this.#end);
  }

  requireOpen(): void {
    if (this.#end !== null) throw this.#end;
  }

  #watch(db: IndexedDb): IndexedDb {
    // Somebody deletes the database, or another version of the app upgrades it, and must not wait for this one.
    db.onversionchange = () => {
      db.close();
      this.#lose();
    };
    db.onclose = () => void this.#reopen();
    return db;
  }

  #reopen(): Promise<void> {
    this.#reopening ??= this.#openAgain()
      .catch((error: unknown) => this.#lose(error))
      .finally(() => {
        this.#reopening = null;
      });
    return this.#reopening;
  }

  async #openAgain(): Promise<void> {
    this.#db.onclose = null;
    const db = await openExisting(this.#parts);
    const isSame = await this.#parts.isSame(db);
    if (!isSame || this.#end !== null) {
      db.close();
      this.#lose();
      return;
    }
    this.#db = this.#watch(db);
    if (this.#newLog === null) return;
    this.#newLog = null;
    this.beginNewLog();
  }

  #lose(cause?: unknown): void {
    if (this.#end !== null) return;
    this.#end = clientError('store_failed', 'the database was deleted or upgraded; open the device again', cause);
    this.#onLost(this.#end);
  }
}

/** Returns null if the connection is closed. */
function beginIfOpen(db: IndexedDb, given: TransactionArguments): IndexedDbTransaction | null {
  try {
    return db.transaction(...given);
  } catch (error) {
    if (error instanceof Error && error.name === 'InvalidStateError') return null;
    throw error;
  }
}

/** Opens a database. Rejects if there is none, and creates none. */
function openExisting({ factory, name, version }: ConnectionParts): Promise<IndexedDb> {
  const request = factory.open(name, version);
  request.onupgradeneeded = () => request.transaction?.abort();
  return answered(request);
}
