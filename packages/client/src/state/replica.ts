import { asClientError, clientError } from '../client-error.ts';
import type { LocalStore, Table } from '../ports/local-store.ts';
import { Pending } from '../uploads/pending.ts';
import { SourceView } from '../view/source-view.ts';
import { type Change, LocalState, type Reader, type Transaction, writesOf } from './local-state.ts';
import type { SourceRow, UploadRow } from './rows.ts';
import { sameJson } from './same-json.ts';

/**
 * The store, its content in memory, and the views of the app. Everything changes by transactions, one after the
 * other: first in the store, then in memory, then in the views.
 */
export class Replica {
  readonly #store: LocalStore;
  readonly #state: LocalState;
  readonly #pending = new Pending();
  readonly #views = new Map<string, SourceView>();
  readonly #onChanged: (tables: ReadonlySet<Table>) => void;
  #queue: Promise<unknown> = Promise.resolve();
  #isClosed = false;
  #orderNext = 0;
  #settledNext = 0;

  private constructor(store: LocalStore, state: LocalState, onChanged: (tables: ReadonlySet<Table>) => void) {
    this.#store = store;
    this.#state = state;
    this.#onChanged = onChanged;
    for (const [, upload] of state.entries('uploads', '')) {
      this.#pending.add(upload);
      this.#orderNext = Math.max(this.#orderNext, upload.order + 1);
      this.#settledNext = Math.max(this.#settledNext, (upload.settled ?? -1) + 1);
    }
  }

  static async open(store: LocalStore, onChanged: (tables: ReadonlySet<Table>) => void): Promise<Replica> {
    return new Replica(store, new LocalState(await store.load()), onChanged);
  }

  get reader(): Reader {
    return this.#state;
  }

  /** Uploads without a final outcome. */
  get uploadsOpen(): number {
    return this.#pending.open;
  }

  count(table: Table): number {
    return this.#state.count(table, '');
  }

  get orderNext(): number {
    return this.#orderNext;
  }

  /** Returns the number for the next upload or outcome. */
  takeOrder(): number {
    return this.#orderNext++;
  }

  takeSettled(): number {
    return this.#settledNext++;
  }

  get settledNext(): number {
    return this.#settledNext;
  }

  view(source: string): SourceView {
    const known = this.#views.get(source);
    if (known !== undefined) return known;
    const view = new SourceView(this.#state, this.#pending, source);
    this.#views.set(source, view);
    return view;
  }

  /**
   * Runs the decision when its turn comes, and commits its writes, all or none. A decision that throws changes
   * nothing.
   */
  transact<T>(decide: (tx: Transaction) => T): Promise<T> {
    const turn = this.#queue.then(() => this.#run(decide));
    this.#queue = turn.catch(() => undefined);
    return turn;
  }

  /** Finishes earlier transactions, then closes the store. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue;
    await this.#store.close();
  }

  async #run<T>(decide: (tx: Transaction) => T): Promise<T> {
    if (this.#isClosed) throw clientError('closed', 'the device is closed');
    const tx = this.#state.begin();
    const result = decide(tx);
    const changes = tx.changes();
    if (changes.length === 0) return result;
    try {
      await this.#store.commit(writesOf(changes));
    } catch (error) {
      throw asClientError(error, 'store_failed');
    }
    this.#state.apply(changes);
    this.#notify(changes);
    return result;
  }

  /** Updates all views before any listener is called, so that no listener sees one source ahead of another. */
  #notify(changes: readonly Change[]): void {
    this.#indexUploads(changes);
    const changed = [...this.#views].filter(([source, view]) => followed(source, view, changes));
    this.#onChanged(new Set(changes.map(({ table }) => table)));
    for (const [, view] of changed) for (const listener of view.listeners()) callListener(listener);
  }

  #indexUploads(changes: readonly Change[]): void {
    for (const { table, before, after } of changes) {
      if (table !== 'uploads') continue;
      if (before !== undefined) this.#pending.remove(before as UploadRow);
      if (after !== undefined) this.#pending.add(after as UploadRow);
    }
  }
}

/** An error of a listener is a bug of the app and must not affect the device. */
export function callListener(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

function followed(source: string, view: SourceView, changes: readonly Change[]): boolean {
  if (changes.some((change) => concernsAll(source, change))) return view.updateAll();
  return view.update(new Set(changes.flatMap((change) => idsIn(source, change))));
}

/** True for links and declared references, which may concern any object. */
function concernsAll(source: string, { table, key, before, after }: Change): boolean {
  if (table === 'links') return true;
  if (table !== 'sources' || key[1] !== source) return false;
  const referencesOf = (row: unknown) => (row as SourceRow | undefined)?.description.references ?? {};
  return !sameJson(referencesOf(before), referencesOf(after));
}

function idsIn(source: string, { table, key, before, after }: Change): readonly string[] {
  if (table === 'objects') return key[0] === source ? [key[1]] : [];
  if (table !== 'uploads') return [];
  const rows = [before, after] as readonly (UploadRow | undefined)[];
  return rows.flatMap((row) => (row?.source === source ? [row.id] : []));
}
