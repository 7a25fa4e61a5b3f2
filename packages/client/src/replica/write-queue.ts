import type { Upload } from '@tidemark/protocol';
import { ClientError, clientError } from '../client-error.ts';
import type { LocalWrite } from '../ports/local-store.ts';
import type { Change, Reader, Transaction } from '../state/local-state.ts';
import { byOrder, type NewUpload, type UploadRow } from '../state/rows.ts';
import { addUpload } from '../uploads/merge-upload.ts';
import { deferred, type Keeper, type Replica } from './replica.ts';

/** Changes of the app that are visible and not stored yet. */
interface UnsavedWrite {
  readonly uploads: readonly NewUpload[];
  /** Throws if the change may not be stored, because another user has signed in since. */
  readonly guard: (tx: Transaction) => void;
  readonly done: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * The changes of the app. They are visible at once, wait here until the keeper of the replica has them, and are taken back if
 * it refuses them. From then on they are uploads, which the server gets in the same order.
 */
export class WriteQueue {
  readonly #replica: Replica;
  #unsaved: readonly UnsavedWrite[] = [];
  /** The last upload of the queue, if later updates may be merged into it because it has never been sent. */
  #tail: string | null = null;
  #orderNext = 0;
  #lastOrder = -1;
  #settledNext = 0;

  constructor(replica: Replica) {
    this.#replica = replica;
    replica.commits.add((changes) => this.#noteTail(changes));
  }

  get isEmpty(): boolean {
    return this.#unsaved.length === 0;
  }

  /** All uploads in the store, and those about to be stored. */
  get size(): number {
    return this.#replica.reader.count('uploads', '') + this.#unsavedUploads().length;
  }

  /** All uploads that are visible, oldest first. */
  uploads(): readonly NewUpload[] {
    const all = [...this.#replica.reader.entries('uploads', ''), ...this.#unsavedUploads()];
    return all.sort(([, left], [, right]) => byOrder(left, right));
  }

  hasUnsavedBefore(order: number): boolean {
    return this.#unsavedUploads().some(([, row]) => row.order < order);
  }

  // Numbers

  get orderNext(): number {
    return this.#orderNext;
  }

  /** Returns the number for the next upload. */
  takeOrder(): number {
    return this.#orderNext++;
  }

  get settledNext(): number {
    return this.#settledNext;
  }

  /** Returns the number for the next outcome. */
  takeSettled(): number {
    return this.#settledNext++;
  }

  // Writing

  /**
   * Shows changes of the app at once. Resolves when they are stored. If the store refuses them, they are taken back and
   * the promise rejects.
   */
  write(uploads: readonly NewUpload[], guard: (tx: Transaction) => void): Promise<void> {
    if (this.#replica.isClosed) return Promise.reject(clientError('closed', 'the device is closed'));
    if (uploads.length === 0) return Promise.resolve();
    const { promise: done, resolve, reject } = deferred();
    const isFirst = this.isEmpty;
    this.#unsaved = [...this.#unsaved, { uploads, guard, done, resolve, reject }];
    this.#replica.show(changesOf(uploads, 'made'));
    const { keeper } = this.#replica;
    if (keeper.send !== undefined) keeper.send(uploads);
    else if (isFirst) void this.#replica.inTurn(() => this.#saveAll());
    return done;
  }

  /** Takes uploads to be sent to the server. From now on they do not change. */
  take(choose: (reader: Reader) => readonly Upload[]): Promise<readonly Upload[]> {
    return this.#replica.transact((tx) => {
      const taken = choose(tx);
      if (taken.some(({ op_id: opId }) => opId === this.#tail)) this.#tail = null;
      return taken;
    });
  }

  /** Makes another keeper responsible for the replica, which gets what is not stored. */
  keepBy(keeper: Keeper): void {
    this.#replica.keepBy(keeper);
    if (keeper.send !== undefined) {
      this.sendAgain();
      return;
    }
    this.#continueNumbers();
    this.#lastOrder = this.#orderNext - 1;
    this.#tail = null;
    this.#withdraw(({ uploads }) => uploads.some(([opId]) => this.#isStored(opId)));
    void this.#replica.inTurn(() => this.#saveAll());
  }

  /** Sends what is not stored again, because another tab has the store. Changes made here come after what that tab has. */
  sendAgain(): void {
    this.#continueNumbers();
    for (const { uploads } of this.#unsaved) this.#replica.keeper.send?.(uploads);
  }

  /** Takes over what the tab that has the store has committed. */
  applyCommitted(writes: readonly LocalWrite[], saved: readonly string[]): void {
    const names = new Set(saved);
    const changes = this.#replica.reader.apply(writes);
    for (const { table, after } of changes) {
      if (table === 'uploads' && after !== undefined) this.#continueAfter(after as UploadRow);
    }
    this.#withdraw(({ uploads }) => uploads.every(([opId]) => names.has(opId)), changes);
  }

  /** Resolves the changes that are stored already, as another tab says. */
  confirm(opIds: readonly string[]): void {
    this.#withdraw(({ uploads }) => uploads.some(([opId]) => opIds.includes(opId)));
  }

  /** Takes back changes that could not be stored; without op_ids all that are not stored. */
  refuse(error: unknown, opIds?: readonly string[]): void {
    for (const write of this.#unsaved) {
      if (opIds === undefined || write.uploads.some(([opId]) => opIds.includes(opId))) this.#refuse(write, error);
    }
  }

  /** Tells whether the store has the upload, or will have it soon. */
  has(opId: string): 'stored' | 'unsaved' | null {
    if (this.#isStored(opId)) return 'stored';
    return this.#unsavedUploads().some(([unsaved]) => unsaved === opId) ? 'unsaved' : null;
  }

  /** Refuses further changes. Resolves when those before are stored or refused. */
  async close(): Promise<void> {
    await this.#replica.close();
    // Not `allSettled`, which React Native has only in new versions.
    await Promise.all(this.#unsaved.map(({ done }) => done.catch(() => undefined)));
  }

  /** Stores what the app has changed so far, together if possible. */
  async #saveAll(): Promise<void> {
    while (!this.isEmpty && this.#replica.keeper.send === undefined) {
      const [batch, { keeper }] = [this.#unsaved, this.#replica];
      await this.#save(batch).catch((error: unknown) => this.#saveEach(batch, keeper, error));
    }
  }

  /** One write that cannot be stored must not take the others with it. */
  async #saveEach(batch: readonly UnsavedWrite[], keeper: Keeper, error: unknown): Promise<void> {
    for (const write of batch) {
      // Another keeper has become responsible. Whether it was stored, the one that has the store now knows.
      if (keeper !== this.#replica.keeper) return;
      if (batch.length === 1) this.#refuse(write, error);
      else await this.#save([write]).catch((own: unknown) => this.#saveEach([write], keeper, own));
    }
  }

  async #save(batch: readonly UnsavedWrite[]): Promise<void> {
    const tx = await this.#replica.begin();
    let tail = this.#tail;
    for (const { uploads, guard } of batch) {
      guard(tx);
      for (const [opId, row] of uploads) {
        const holder = addUpload(tx, tail, opId, row);
        // A change of before this tab led may have changes of other tabs after it, over which nothing may be merged.
        tail = row.order > this.#lastOrder ? holder : null;
      }
    }
    const shown = batch.flatMap(({ uploads }) => uploads);
    const changes = await this.#replica.commit(
      tx,
      shown.map(([opId]) => opId),
    );
    this.#unsaved = this.#unsaved.filter((write) => !batch.includes(write));
    const saved = new Set(changes.map(({ after }) => after));
    const rows = new Set<unknown>(shown.map(([, row]) => row));
    const merged = shown.filter(([, row]) => !saved.has(row));
    // Most rows are stored as they were shown, which changes nothing that anybody sees.
    this.#replica.show([...changesOf(merged, 'withdrawn'), ...changes.filter(({ after }) => !rows.has(after))]);
    for (const { resolve } of batch) resolve();
  }

  #refuse(write: UnsavedWrite, error: unknown): void {
    const isForOther = error instanceof ClientError && error.code === 'store_in_use';
    if (isForOther && this.#replica.keeper.send !== undefined) return;
    this.#unsaved = this.#unsaved.filter((other) => other !== write);
    this.#replica.show(changesOf(write.uploads, 'withdrawn'));
    write.reject(error);
  }

  /** Resolves the writes that are stored, and shows them as what they have become: `changes`, or what is there already. */
  #withdraw(isStored: (write: UnsavedWrite) => boolean, changes: readonly Change[] = []): void {
    const done = this.#unsaved.filter(isStored);
    this.#unsaved = this.#unsaved.filter((write) => !done.includes(write));
    const uploads = done.flatMap((write) => write.uploads);
    this.#replica.show([...changesOf(uploads, 'withdrawn'), ...changes]);
    for (const { resolve } of done) resolve();
  }

  #isStored(opId: string): boolean {
    const { reader } = this.#replica;
    if (reader.get('uploads', ['', opId]) !== undefined) return true;
    return [...reader.entries('uploads', '')].some(([, { merged }]) => merged?.includes(opId));
  }

  #continueNumbers(): void {
    for (const [, upload] of this.#replica.reader.entries('uploads', '')) this.#continueAfter(upload);
  }

  #continueAfter({ order, settled }: UploadRow): void {
    this.#orderNext = Math.max(this.#orderNext, order + 1);
    this.#settledNext = Math.max(this.#settledNext, (settled ?? -1) + 1);
  }

  #noteTail(changes: readonly Change[]): void {
    for (const { table, key, before, after } of changes) {
      if (table !== 'uploads' || before !== undefined) continue;
      const { order } = after as UploadRow;
      if (order <= this.#lastOrder) continue;
      this.#lastOrder = order;
      this.#tail = key[1];
    }
  }

  #unsavedUploads(): readonly NewUpload[] {
    return this.#unsaved.flatMap(({ uploads }) => uploads);
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
