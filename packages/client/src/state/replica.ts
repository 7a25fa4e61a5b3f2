import type { Upload } from '@tidemark/protocol';
import { asClientError, clientError } from '../client-error.ts';
import type { LocalStore, Table } from '../ports/local-store.ts';
import { addUpload } from '../uploads/merge-upload.ts';
import { byOrder, Pending } from '../uploads/pending.ts';
import { SourceView } from '../view/source-view.ts';
import { type Change, LocalState, type Reader, type Transaction, writesOf } from './local-state.ts';
import type { SourceRow, UploadRow } from './rows.ts';
import { sameJson } from './same-json.ts';

export type NewUpload = readonly [opId: string, row: UploadRow];

/** Changes of the app that are visible and not stored yet. */
interface UnsavedWrite {
  readonly uploads: readonly NewUpload[];
  /** Throws if the change may not be stored, because another user has signed in since. */
  readonly guard: (tx: Transaction) => void;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The store, its content in memory, and the views of the app. Everything changes by transactions, one after the
 * other: first in the store, then in memory, then in the views. Changes of the app are the exception: they are visible at
 * once, and are taken back if the store refuses them.
 */
export class Replica {
  readonly #store: LocalStore;
  readonly #state: LocalState;
  readonly #pending = new Pending();
  readonly #views = new Map<string, SourceView>();
  readonly #onChanged: (tables: ReadonlySet<Table>) => void;
  #queue: Promise<unknown> = Promise.resolve();
  #unsaved: readonly UnsavedWrite[] = [];
  /** The last upload of the queue, if later updates may be merged into it because it has never been sent. */
  #tail: string | null = null;
  #isClosed = false;
  #orderNext = 0;
  #lastOrder = -1;
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
    this.#lastOrder = this.#orderNext - 1;
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

  /** All uploads in the store, and those about to be stored. */
  get uploadsStored(): number {
    return this.count('uploads') + this.#unsavedUploads().length;
  }

  /** All uploads that are visible, oldest first. */
  uploads(): readonly NewUpload[] {
    const all = [...this.#state.entries('uploads', ''), ...this.#unsavedUploads()];
    return all.sort(([, left], [, right]) => byOrder(left, right));
  }

  hasUnsavedBefore(order: number): boolean {
    return this.#unsavedUploads().some(([, row]) => row.order < order);
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

  /**
   * Shows changes of the app at once. Resolves when they are stored. If the store refuses them, they are taken back and
   * the promise rejects.
   */
  write(uploads: readonly NewUpload[], guard: (tx: Transaction) => void): Promise<void> {
    if (this.#isClosed) return Promise.reject(clientError('closed', 'the device is closed'));
    if (uploads.length === 0) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const isFirst = this.#unsaved.length === 0;
      this.#unsaved = [...this.#unsaved, { uploads, guard, resolve, reject }];
      this.#notify(changesOf(uploads, 'made'));
      if (isFirst) this.#queue = this.#queue.then(() => this.#saveAll());
    });
  }

  /** Takes uploads to be sent. From now on they do not change. */
  take(choose: (reader: Reader) => readonly Upload[]): Promise<readonly Upload[]> {
    return this.transact((tx) => {
      const taken = choose(tx);
      if (taken.some(({ op_id: opId }) => opId === this.#tail)) this.#tail = null;
      return taken;
    });
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
    await this.#commit(changes);
    this.#notify(changes);
    return result;
  }

  async #commit(changes: readonly Change[]): Promise<void> {
    try {
      await this.#store.commit(writesOf(changes));
    } catch (error) {
      throw asClientError(error, 'store_failed');
    }
    this.#state.apply(changes);
    for (const { table, key, before, after } of changes) {
      if (table === 'uploads' && before === undefined) this.#noteTail(key[1], after as UploadRow);
    }
  }

  #noteTail(opId: string, { order }: UploadRow): void {
    if (order <= this.#lastOrder) return;
    this.#lastOrder = order;
    this.#tail = opId;
  }

  /** Stores what the app has changed so far, together if possible. */
  async #saveAll(): Promise<void> {
    while (this.#unsaved.length > 0) {
      const batch = this.#unsaved;
      try {
        await this.#save(batch);
      } catch (error) {
        const [first] = batch;
        // One write that cannot be stored must not take the others with it.
        if (batch.length > 1)
          for (const write of batch) await this.#save([write]).catch((own) => this.#refuse(write, own));
        else if (first !== undefined) this.#refuse(first, error);
      }
    }
  }

  async #save(batch: readonly UnsavedWrite[]): Promise<void> {
    const tx = this.#state.begin();
    let tail = this.#tail;
    for (const { uploads, guard } of batch) {
      guard(tx);
      for (const [opId, row] of uploads) tail = addUpload(tx, tail, opId, row);
    }
    const changes = tx.changes();
    await this.#commit(changes);
    this.#unsaved = this.#unsaved.filter((write) => !batch.includes(write));
    const shown = batch.flatMap(({ uploads }) => uploads);
    const saved = new Set(changes.map(({ after }) => after));
    const rows = new Set<unknown>(shown.map(([, row]) => row));
    // Most rows are stored as they were shown, which changes nothing that anybody sees.
    this.#notify([
      ...changesOf(
        shown.filter(([, row]) => !saved.has(row)),
        'withdrawn',
      ),
      ...changes.filter(({ after }) => !rows.has(after)),
    ]);
    for (const { resolve } of batch) resolve();
  }

  #refuse(write: UnsavedWrite, error: unknown): void {
    this.#unsaved = this.#unsaved.filter((other) => other !== write);
    this.#notify(changesOf(write.uploads, 'withdrawn'));
    write.reject(error);
  }

  #unsavedUploads(): readonly NewUpload[] {
    return this.#unsaved.flatMap(({ uploads }) => uploads);
  }

  /** Updates all views before any listener is called, so that no listener sees one source ahead of another. */
  #notify(changes: readonly Change[]): void {
    if (changes.length === 0) return;
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

/** Returns uploads that are shown or withdrawn without being stored, as changes for views. */
function changesOf(uploads: readonly NewUpload[], kind: 'made' | 'withdrawn'): readonly Change[] {
  return uploads.map(([opId, row]) => {
    const change = { table: 'uploads', key: ['', opId] } as const;
    return kind === 'made'
      ? { ...change, before: undefined, after: row }
      : { ...change, before: row, after: undefined };
  });
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
