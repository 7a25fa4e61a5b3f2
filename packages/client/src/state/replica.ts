import type { Upload } from '@tidemark/protocol';
import { asClientError, ClientError, clientError } from '../client-error.ts';
import { type CommitOptions, type LocalStore, type LocalWrite, TABLES, type Table } from '../ports/local-store.ts';
import { addUpload } from '../uploads/merge-upload.ts';
import { byOrder, Pending } from '../uploads/pending.ts';
import { SourceView } from '../view/source-view.ts';
import type { Pause } from './in-steps.ts';
import { type Change, LocalState, type Reader, type Transaction } from './local-state.ts';
import type { UploadRow } from './rows.ts';
import { updateView } from './update-view.ts';

export type NewUpload = readonly [opId: string, row: UploadRow];

/** Changes of the app that are visible and not stored yet. */
interface UnsavedWrite {
  readonly uploads: readonly NewUpload[];
  /** Throws if the change may not be stored, because another user has signed in since. */
  readonly guard: (tx: Transaction) => void;
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/** Hooks of a tab that leads the device for the others. */
export interface LeaderHooks {
  /** Called after every commit. `saved` are the op_ids of the app's changes that it has stored. */
  onCommitted(writes: readonly LocalWrite[], saved: readonly string[]): void;
  /** Called when the store belongs to another tab by now. */
  onLost(): void;
}

/** Sends changes of the app to the tab that leads. */
export type SendUploads = (uploads: readonly NewUpload[]) => void;

/**
 * The store, its content in memory, and the views of the app. Everything changes by transactions, one after the
 * other: first in the store, then in memory, then in the views. Changes of the app are the exception: they are visible at
 * once, and are taken back if the store refuses them.
 */
export class Replica {
  /** Null: another tab has the store, and changes of the app are sent there. */
  #store: LocalStore | null;
  #send: SendUploads = () => undefined;
  #hooks: LeaderHooks | null = null;
  /** Counts changes of the leader, so that a commit under way is recognised as outdated. */
  #term = 0;
  #state: LocalState;
  readonly #pending = new Pending();
  readonly #views = new Map<string, SourceView>();
  /** Views that may lack objects. */
  readonly #unmade = new Set<SourceView>();
  readonly #onChanged: (tables: ReadonlySet<Table>) => void;
  #queue: Promise<unknown> = Promise.resolve();
  #unsaved: readonly UnsavedWrite[] = [];
  /** The last upload of the queue, if later updates may be merged into it because it has never been sent. */
  #tail: string | null = null;
  #isClosed = false;
  /** Present while only some of the objects are in memory. */
  #loading: ReturnType<typeof deferred> | null = null;
  #orderNext = 0;
  #lastOrder = -1;
  #settledNext = 0;

  constructor(store: LocalStore | null, state: LocalState, onChanged: (tables: ReadonlySet<Table>) => void) {
    this.#store = store;
    this.#state = state;
    this.#onChanged = onChanged;
    this.#continue();
  }

  /** Returns a replica without a store, which follows another tab. */
  static following(onChanged: (tables: ReadonlySet<Table>) => void): Replica {
    return new Replica(null, new LocalState([]), onChanged);
  }

  /** Resolves when all objects are in memory, and rejects if the store could not load them; null: they are. */
  get loaded(): Promise<void> | null {
    return this.#loading?.promise ?? null;
  }

  /**
   * Says that only some of the objects are in memory: transactions wait for the others. They are not awaited any more if
   * another tab has the store by now, or has sent them. After `fail` every transaction fails.
   */
  beginLoading(): { readonly isAwaited: () => boolean; readonly fail: (error: unknown) => void } {
    const term = this.#term;
    const loading = deferred();
    this.#loading = loading;
    // Whoever waits for it is told.
    loading.promise.catch(() => undefined);
    return { isAwaited: () => this.#loading === loading && this.#term === term, fail: loading.reject };
  }

  /** Takes over objects that were loaded, and updates the views without telling their listeners. */
  addLoaded(writes: readonly LocalWrite[]): void {
    const changes = this.#state.apply(writes);
    for (const [source, view] of this.#views) updateView(view, source, changes);
  }

  /** Tells all listeners that everything is loaded. */
  endLoading(): void {
    if (this.#loading === null) return;
    this.#loading.resolve();
    this.#loading = null;
    this.#tell(this.#views.values());
    this.#onChanged(new Set(TABLES));
  }

  get reader(): LocalState {
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
    const view = this.#views.get(source) ?? this.#addView(source);
    if (this.#unmade.delete(view)) view.updateAll();
    return view;
  }

  /**
   * Makes the views of all stored sources in steps. To make one when the app asks for it would take long; one that it asks for
   * between two steps is made at once.
   */
  async makeViews(pause: Pause): Promise<void> {
    for (const [source] of [...this.#state.entries('sources', '')]) {
      if (this.#views.has(source)) continue;
      const view = this.#addView(source);
      await view.make(pause);
      this.#unmade.delete(view);
    }
  }

  #addView(source: string): SourceView {
    const view = new SourceView(this.#state, this.#pending, source);
    this.#views.set(source, view);
    this.#unmade.add(view);
    return view;
  }

  /**
   * Runs the decision when its turn comes, and commits its writes, all or none. A decision that throws changes
   * nothing.
   */
  transact<T>(decide: (tx: Transaction) => T, options?: CommitOptions): Promise<T> {
    const turn = this.#queue.then(() => this.#run(decide, options));
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
    const { promise: done, resolve, reject } = deferred();
    const isFirst = this.#unsaved.length === 0;
    this.#unsaved = [...this.#unsaved, { uploads, guard, done, resolve, reject }];
    this.#notify(changesOf(uploads, 'made'));
    if (this.#store === null) this.#send(uploads);
    else if (isFirst) this.#queue = this.#queue.then(() => this.#saveAll());
    return done;
  }

  /** Takes uploads to be sent. From now on they do not change. */
  take(choose: (reader: Reader) => readonly Upload[]): Promise<readonly Upload[]> {
    return this.transact((tx) => {
      const taken = choose(tx);
      if (taken.some(({ op_id: opId }) => opId === this.#tail)) this.#tail = null;
      return taken;
    });
  }

  /** True if it has nothing that another state would have to be compared with. */
  get isEmpty(): boolean {
    return this.#views.size === 0 && this.#unsaved.length === 0 && this.#state.snapshot().count === 0;
  }

  /** Uses the store from now on, and stores what was not stored. `content` is what the store holds, or how it differs from the state. */
  lead(store: LocalStore, content: LocalState | readonly LocalWrite[], hooks: LeaderHooks): void {
    this.#term++;
    this.#store = store;
    this.#hooks = hooks;
    if (content instanceof LocalState) {
      this.#state = content;
      this.#continue();
      this.#onChanged(new Set(TABLES));
    } else {
      this.rebase(content);
      this.#continueNumbers();
    }
    this.#tail = null;
    this.#withdrawSaved((opId) => this.#isStored(opId));
    this.#queue = this.#queue.then(() => this.#saveAll());
  }

  /** Leaves the store to another tab, and sends what was not stored there. */
  follow(send: SendUploads): void {
    this.#term++;
    this.#store = null;
    this.#hooks = null;
    this.#send = send;
    this.sendAgain();
  }

  /** Sends what is not stored again, because the tab that leads has changed. */
  sendAgain(): void {
    for (const { uploads } of this.#unsaved) this.#send(uploads);
  }

  /** Makes the state equal to another one, from which it differs by these writes. Views change only where they do. */
  rebase(writes: readonly LocalWrite[]): void {
    this.#notify(this.#state.apply(writes));
    this.endLoading();
  }

  /** Takes over what the tab that leads has committed. */
  applyCommitted(writes: readonly LocalWrite[], saved: readonly string[]): void {
    const changes = this.#state.apply(writes);
    const names = new Set(saved);
    const done = this.#unsaved.filter(({ uploads }) => uploads.every(([opId]) => names.has(opId)));
    this.#unsaved = this.#unsaved.filter((write) => !done.includes(write));
    this.#notify([
      ...changesOf(
        done.flatMap(({ uploads }) => uploads),
        'withdrawn',
      ),
      ...changes,
    ]);
    for (const { resolve } of done) resolve();
  }

  /** Takes back changes that the tab that leads could not store. */
  refuseUploads(opIds: readonly string[], error: unknown): void {
    for (const write of this.#unsaved) {
      if (write.uploads.some(([opId]) => opIds.includes(opId))) this.#refuse(write, error);
    }
  }

  /** Takes back all changes that are not stored, because nobody can store them. */
  refuseUnsaved(error: unknown): void {
    for (const write of this.#unsaved) this.#refuse(write, error);
  }

  /** Resolves the changes that are stored already, as another tab says. */
  confirmUploads(opIds: readonly string[]): void {
    this.#withdrawSaved((opId) => opIds.includes(opId));
  }

  /** Tells whether the store has the upload, or will have it soon. */
  hasUpload(opId: string): 'stored' | 'unsaved' | null {
    if (this.#isStored(opId)) return 'stored';
    return this.#unsavedUploads().some(([unsaved]) => unsaved === opId) ? 'unsaved' : null;
  }

  #isStored(opId: string): boolean {
    if (this.#state.get('uploads', ['', opId]) !== undefined) return true;
    return [...this.#state.entries('uploads', '')].some(([, { merged }]) => merged?.includes(opId));
  }

  #withdrawSaved(isSaved: (opId: string) => boolean): void {
    const done = this.#unsaved.filter(({ uploads }) => uploads.some(([opId]) => isSaved(opId)));
    this.#unsaved = this.#unsaved.filter((write) => !done.includes(write));
    this.#notify(
      changesOf(
        done.flatMap(({ uploads }) => uploads),
        'withdrawn',
      ),
    );
    for (const { resolve } of done) resolve();
  }

  /** Goes on with the uploads of a state that is new to this replica. */
  #continue(): void {
    for (const [, upload] of this.#state.entries('uploads', '')) this.#pending.add(upload);
    this.#continueNumbers();
  }

  #continueNumbers(): void {
    for (const [, upload] of this.#state.entries('uploads', '')) {
      this.#orderNext = Math.max(this.#orderNext, upload.order + 1);
      this.#settledNext = Math.max(this.#settledNext, (upload.settled ?? -1) + 1);
    }
    this.#lastOrder = this.#orderNext - 1;
  }

  /** Finishes earlier transactions, then closes the store. A tab that follows waits until its changes are stored. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#queue;
    await Promise.allSettled(this.#unsaved.map(({ done }) => done));
    await this.#store?.close();
  }

  async #run<T>(decide: (tx: Transaction) => T, options?: CommitOptions): Promise<T> {
    if (this.loaded !== null) await this.loaded;
    if (this.#isClosed) throw clientError('closed', 'the device is closed');
    const tx = this.#state.begin();
    const result = decide(tx);
    const writes = tx.writes();
    if (writes.length > 0) this.#notify(await this.#commit(writes, [], options));
    return result;
  }

  /** Returns what the writes changed. */
  async #commit(
    writes: readonly LocalWrite[],
    saved: readonly string[],
    options?: CommitOptions,
  ): Promise<readonly Change[]> {
    const term = this.#term;
    if (this.#store === null) throw inOtherTab();
    try {
      await this.#store.commit(writes, options);
    } catch (error) {
      const failure = asClientError(error, 'store_failed');
      if (failure.code === 'store_in_use') this.#hooks?.onLost();
      throw failure;
    }
    // Another tab has the store by now. Whether it loaded these changes is what it says.
    if (term !== this.#term) throw inOtherTab();
    const changes = this.#state.apply(writes);
    this.#hooks?.onCommitted(writes, saved);
    for (const { table, key, before, after } of changes) {
      if (table === 'uploads' && before === undefined) this.#noteTail(key[1], after as UploadRow);
    }
    return changes;
  }

  #noteTail(opId: string, { order }: UploadRow): void {
    if (order <= this.#lastOrder) return;
    this.#lastOrder = order;
    this.#tail = opId;
  }

  /** Stores what the app has changed so far, together if possible. */
  async #saveAll(): Promise<void> {
    while (this.#unsaved.length > 0 && this.#store !== null) {
      const [batch, term] = [this.#unsaved, this.#term];
      await this.#save(batch).catch((error: unknown) => this.#saveEach(batch, term, error));
    }
  }

  /** One write that cannot be stored must not take the others with it. */
  async #saveEach(batch: readonly UnsavedWrite[], term: number, error: unknown): Promise<void> {
    for (const write of batch) {
      // Another tab has led since then. Whether it was stored, the tab that has the store now knows.
      if (term !== this.#term) return;
      if (batch.length === 1) this.#refuse(write, error);
      else await this.#save([write]).catch((own: unknown) => this.#saveEach([write], term, own));
    }
  }

  async #save(batch: readonly UnsavedWrite[]): Promise<void> {
    if (this.loaded !== null) await this.loaded;
    const tx = this.#state.begin();
    let tail = this.#tail;
    for (const { uploads, guard } of batch) {
      guard(tx);
      for (const [opId, row] of uploads) tail = addUpload(tx, tail, opId, row);
    }
    const changes = await this.#commit(
      tx.writes(),
      batch.flatMap(({ uploads }) => uploads.map(([opId]) => opId)),
    );
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
    if (this.#store === null && isInOtherTab(error)) return;
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
    const changed = [...this.#views].filter(([source, view]) => updateView(view, source, changes));
    this.#onChanged(tablesIn(changes));
    this.#tell(changed.map(([, view]) => view));
  }

  #tell(views: Iterable<SourceView>): void {
    for (const view of views) for (const listener of view.listeners()) callListener(listener);
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

function inOtherTab(): ClientError {
  return clientError('store_in_use', 'another tab leads this device');
}

function isInOtherTab(error: unknown): boolean {
  return error instanceof ClientError && error.code === 'store_in_use';
}

function deferred(): { readonly promise: Promise<void>; resolve: () => void; reject: (error: unknown) => void } {
  let resolve: () => void = () => undefined;
  let reject: (error: unknown) => void = () => undefined;
  const promise = new Promise<void>((done, failed) => {
    resolve = done;
    reject = failed;
  });
  return { promise, resolve, reject };
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

function tablesIn(changes: readonly Change[]): ReadonlySet<Table> {
  const tables = new Set<Table>();
  for (const { table } of changes) tables.add(table);
  return tables;
}
