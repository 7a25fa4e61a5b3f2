import { asClientError, type ClientError, clientError } from '../client-error.ts';
import { type CommitOptions, type DiskPart, type LocalWrite, TABLES, type Table } from '../ports/local-store.ts';
import type { RowsRead } from '../state/disk-work.ts';
import { type Change, LocalState, type Transaction } from '../state/local-state.ts';
import type { NewUpload } from '../state/rows.ts';
import { Listeners } from '../view/observable.ts';
import { type ObjectView, Views } from '../view/views.ts';

/** What makes the content of a replica durable at the moment: a store, or another tab that has the store. */
export interface Keeper {
  /** Where the objects are that are not in memory. */
  readonly disk?: DiskPart;
  /** Commits are called one at a time. */
  commit(writes: readonly LocalWrite[], options?: CommitOptions): Promise<void>;
  /** Called after every commit, when the replica has it. `saved` are the op_ids of the app's changes that it has stored. */
  onCommitted?(writes: readonly LocalWrite[], saved: readonly string[]): void;
  /** Sends changes of the app to the tab that has the store. Absent: they are committed here. */
  send?(uploads: readonly NewUpload[]): void;
}

/** Reads the objects on the disk that a transaction decides about, in its turn. */
export type ReadBefore = (rows: RowsRead) => Promise<void>;

export interface TransactOptions extends CommitOptions {
  readonly readBefore?: ReadBefore;
}

interface Loading {
  readonly isAwaited: () => boolean;
  readonly fail: (error: unknown) => void;
}

interface Deferred {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The content of a store in memory, and the views of the app. It changes by transactions, one after the other: first its keeper
 * commits, then the memory changes, then the views. It does not know who else uses the store.
 */
export class Replica {
  readonly reader = new LocalState([]);
  readonly views = new Views(this.reader);
  /** Tells what each commit has changed. */
  readonly commits = new Listeners<[readonly Change[]]>();
  readonly #onChanged: (tables: ReadonlySet<Table>) => void;
  #keeper: Keeper;
  #turn: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  /** Present while only some of the objects are in memory. */
  #loading: Deferred | null = null;
  /** True: transactions wait for it as well. */
  #isBlocking = false;
  /** How many loads it waits for. */
  #loads = 0;

  constructor(onChanged: (tables: ReadonlySet<Table>) => void, keeper: Keeper = NOBODY) {
    this.#onChanged = onChanged;
    this.#keeper = keeper;
  }

  get keeper(): Keeper {
    return this.#keeper;
  }

  /** Makes another keeper responsible. A commit under way of the one before counts as not made: only that one knows. */
  keepBy(keeper: Keeper): void {
    this.#keeper = keeper;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  /** True if it has nothing that another state would have to be compared with. */
  get isEmpty(): boolean {
    return this.views.isEmpty && this.reader.snapshot().count === 0;
  }

  /** The view of a source, wherever its objects are. */
  view(source: string): ObjectView {
    return this.views.any(source);
  }

  /** Takes the content of a store. The replica must be empty. */
  open(content: LocalState): void {
    this.reader.takeOver(content);
    this.views.addStored();
    this.#onChanged(new Set(TABLES));
  }

  /** Makes the content equal to another one, from which it differs by these writes. Views change only where they do. */
  rebase(writes: readonly LocalWrite[]): void {
    this.show(this.reader.apply(writes));
    this.endLoading();
  }

  // Loading

  /** Resolves when all objects are in memory, and rejects if the store could not load them; null: they are. */
  get loaded(): Promise<void> | null {
    return this.#loading?.promise ?? null;
  }

  /**
   * Says that only some of the objects are in memory: transactions wait for the others. They are not awaited any more if
   * another keeper is responsible by now, or they have come in another way. After `fail` every transaction fails.
   */
  beginLoading(): Loading {
    this.#isBlocking = true;
    this.#loads = 1;
    return this.#loadingOf(deferred());
  }

  /**
   * Does the same for a source that is loaded in a turn of its own: transactions before it do not wait for it, because it waits for
   * them. Not everything is loaded until all such sources are.
   */
  async loadInTurn(work: (isAwaited: () => boolean) => Promise<void>): Promise<void> {
    this.#loads++;
    const { isAwaited, fail } = this.#loadingOf(this.#loading ?? deferred());
    this.#onChanged(new Set(TABLES));
    try {
      await this.inTurn(() => work(isAwaited));
    } catch (error) {
      this.#isBlocking = true;
      fail(error);
      throw error;
    }
    this.endLoading();
  }

  #loadingOf(loading: Deferred): Loading {
    const keeper = this.#keeper;
    this.#loading = loading;
    // Whoever waits for it is told.
    loading.promise.catch(() => undefined);
    return { isAwaited: () => this.#loading === loading && this.#keeper === keeper, fail: loading.reject };
  }

  /** Takes over objects that were loaded, and updates the views without telling their listeners. */
  addLoaded(writes: readonly LocalWrite[]): void {
    this.views.update(this.reader.apply(writes));
  }

  /** Ends one load. After the last one it tells all listeners that everything is loaded. */
  endLoading(): void {
    if (this.#loading === null || --this.#loads > 0) return;
    this.#loading.resolve();
    this.#loading = null;
    this.#loads = 0;
    this.#isBlocking = false;
    this.views.tellAll();
    this.#onChanged(new Set(TABLES));
  }

  // Changing

  /**
   * Runs the decision when its turn comes, and commits its writes, all or none. A decision that throws changes
   * nothing.
   */
  transact<T>(decide: (tx: Transaction) => T, options: TransactOptions = {}): Promise<T> {
    const { readBefore, ...commitOptions } = options;
    return this.inTurn(async () => {
      const tx = await this.begin();
      if (tx.disk !== null) await this.#read(tx.disk, readBefore);
      if (this.#isClosed) throw clientError('closed', 'the device is closed');
      const result = decide(tx);
      const isChanged = tx.disk?.changes !== undefined || tx.writes().length > 0;
      if (isChanged) this.show(await this.commit(tx, [], commitOptions), tx);
      return result;
    });
  }

  async #read(rows: RowsRead, readBefore: ReadBefore | undefined): Promise<void> {
    try {
      await readBefore?.(rows);
    } catch (error) {
      throw asClientError(error, 'store_failed');
    }
  }

  /** Does work after the transactions before it, and before those after it. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#turn.then(work);
    this.#turn = turn.catch(() => undefined);
    return turn;
  }

  /** Begins a transaction on all objects. */
  async begin(): Promise<Transaction> {
    if (this.#isBlocking) await this.#loading?.promise;
    return this.reader.begin();
  }

  /** Commits a transaction in its turn. Returns what it changed, for `show`. */
  async commit(tx: Transaction, saved: readonly string[], options: CommitOptions = {}): Promise<readonly Change[]> {
    const keeper = this.#keeper;
    const writes = tx.writes();
    const disk = tx.disk?.changes;
    try {
      await keeper.commit(writes, disk === undefined ? options : { ...options, disk });
    } catch (error) {
      throw asClientError(error, 'store_failed');
    }
    // Another tab has the store by now. Whether it loaded these changes is what it says.
    if (keeper !== this.#keeper) throw inOtherTab();
    const changes = this.reader.apply(writes, tx);
    keeper.onCommitted?.(writes, saved);
    this.commits.notify(changes);
    return changes;
  }

  /** Updates all views before any listener is called, so that no listener sees one source ahead of another. */
  show(changes: readonly Change[], tx?: Transaction): void {
    if (changes.length === 0 && (tx?.disk?.remade.size ?? 0) === 0) return;
    const changed = this.views.update(changes, tx);
    this.#onChanged(new Set(changes.map(({ table }) => table)));
    for (const view of changed) view.tell();
  }

  /** Resolves when earlier transactions are finished. Later ones are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#turn;
  }
}

export function inOtherTab(): ClientError {
  return clientError('store_in_use', 'another tab leads this device');
}

/** Keeps nothing: transactions are refused, and changes of the app wait for another keeper. */
const NOBODY: Keeper = { commit: () => Promise.reject(inOtherTab()), send: () => undefined };

export function deferred(): Deferred {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
}
