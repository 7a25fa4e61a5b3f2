import { Worker } from 'node:worker_threads';
import type { Commit, DocumentWrite } from '@tidemark/core/ports';
import { Refusal } from '@tidemark/protocol';
import type { Failure } from './failure.ts';
import type { Task } from './tasks.ts';
import {
  packChanges,
  packUnchanged,
  type WriterData,
  type WriterReply,
  type WriterRequest,
} from './writer-messages.ts';

/** Changes, or parts of a document, in one request. Copying more at once would hold up the event loop. */
const ITEMS_PER_REQUEST = 2_000;
/** A commit of so many changes is one request. Packing the changes of a larger one is cheaper than copying them. */
const UNPACKED_CHANGES_MAX = 16;

interface PendingTask {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** Sends tasks to the writer thread and resolves their promises when it answers. */
export class Writer {
  readonly #worker: Worker;
  readonly #pending = new Map<number, PendingTask>();
  readonly #ended: Promise<void>;
  readonly #onIdle: (() => void)[] = [];
  #outbox: WriterRequest[] = [];
  #transferred: ArrayBuffer[] = [];
  #onAnswers: () => void = () => undefined;
  #onFlushed: (tookMs: number) => void = () => undefined;
  #lastId = 0;
  #closedReason: string | null = null;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.on('message', (reply: WriterReply) => this.#settle(reply));
    worker.on('error', (error) => this.#fail(`the writer thread died: ${error.message}`));
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        this.#fail('the writer thread ended');
        resolve();
      });
    });
  }

  /** Resolves when the thread has opened the store. */
  static start(data: WriterData): Promise<Writer> {
    // `src` and `dist` are siblings, so this path is right from both.
    // The thread needs none of the flags of this process, and some of them would stop it.
    const worker = new Worker(new URL('../dist/writer-thread.js', import.meta.url), { workerData: data, execArgv: [] });
    return new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.once('message', () => {
        worker.off('error', reject);
        resolve(new Writer(worker));
      });
    });
  }

  /** Why the writer accepts no tasks; null while it does. */
  get closedReason(): string | null {
    return this.#closedReason;
  }

  /** Sets what is called when answers have arrived, before their promises resolve. */
  onAnswers(call: () => void): void {
    this.#onAnswers = call;
  }

  /** Sets what is called after each flush to the disk, with the time it took. */
  onFlushed(call: (tookMs: number) => void): void {
    this.#onFlushed = call;
  }

  /** Resolves with the result of the task when it is committed and on the disk. */
  async run(task: Task): Promise<unknown> {
    if (this.#closedReason !== null) throw new Refusal('store_unavailable', this.#closedReason);
    const id = ++this.#lastId;
    const done = new Promise<unknown>((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
    });
    const [, result] = await Promise.all([this.#send(id, task), done]);
    return result;
  }

  /** Finishes the tasks that were sent before. */
  async close(): Promise<void> {
    if (this.#closedReason === null) {
      this.#closedReason = 'the store is closed';
      if (this.#pending.size > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve));
      this.#post({ kind: 'close' });
    }
    await this.#ended;
  }

  #send(id: number, task: Task): Promise<void> | void {
    if (task.kind === 'commit') return this.#sendCommit(id, task.commit);
    if (task.kind === 'document') return this.#sendDocument(id, task.write);
    this.#post({ kind: 'task', id, task });
  }

  async #sendCommit(id: number, commit: Commit): Promise<void> {
    const { changes, kept = [] } = commit;
    if (changes.length + kept.length <= UNPACKED_CHANGES_MAX) {
      return this.#post({ kind: 'commit', id, commit });
    }
    for (const [index, some] of portions(changes).entries()) {
      if (index > 0) await new Promise((resolve) => setImmediate(resolve));
      const packed = packChanges(some);
      this.#post({ kind: 'changes', id, changes: packed }, packed.records.buffer);
    }
    for (const some of portions(kept)) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#post({ kind: 'kept', id, kept: packUnchanged(some) });
    }
    this.#post({ kind: 'task', id, task: { kind: 'commit', commit: { ...commit, changes: [], kept: [] } } });
  }

  async #sendDocument(id: number, write: DocumentWrite): Promise<void> {
    if (write.parts.size <= ITEMS_PER_REQUEST) {
      return this.#post({ kind: 'task', id, task: { kind: 'document', write } });
    }
    for (const some of portions([...write.parts])) {
      this.#post({ kind: 'parts', id, parts: new Map(some) });
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#post({ kind: 'task', id, task: { kind: 'document', write: { ...write, parts: new Map() } } });
  }

  /**
   * Requests made in one turn of the event loop are sent in one message, because a message costs more than what it
   * carries. `transferred` memory is handed over instead of being copied.
   */
  #post(request: WriterRequest, transferred?: ArrayBuffer): void {
    if (this.#outbox.length === 0) setImmediate(this.#flush);
    this.#outbox.push(request);
    if (transferred !== undefined) this.#transferred.push(transferred);
  }

  readonly #flush = (): void => {
    this.#worker.postMessage(this.#outbox, this.#transferred);
    this.#outbox = [];
    this.#transferred = [];
  };

  #settle({ answers, flushesMs }: WriterReply): void {
    this.#onAnswers();
    for (const tookMs of flushesMs) this.#onFlushed(tookMs);
    for (const { id, result, failure } of answers) {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (failure === undefined) pending?.resolve(result);
      else pending?.reject(errorOf(failure));
    }
    if (this.#pending.size === 0) this.#emitIdle();
  }

  #emitIdle(): void {
    for (const call of this.#onIdle.splice(0)) call();
  }

  /** The thread will answer nothing more, so all pending tasks fail. */
  #fail(reason: string): void {
    this.#closedReason ??= reason;
    for (const pending of this.#pending.values()) pending.reject(new Refusal('store_unavailable', reason));
    this.#pending.clear();
    this.#emitIdle();
  }
}

function errorOf({ kind, message }: Failure): Error {
  if (kind === 'bug') return new Error(message);
  const refusal =
    kind === 'full'
      ? new Refusal('store_full', 'the disk of the store is full; reading and deleting still work')
      : new Refusal('store_unavailable', 'the store could not write to its disk');
  // Only for the log: the message of the engine names files.
  refusal.cause = new Error(message);
  return refusal;
}

/** Splits a list into parts that fit into one request each. */
function portions<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length <= ITEMS_PER_REQUEST) return items.length === 0 ? [] : [items];
  const count = Math.ceil(items.length / ITEMS_PER_REQUEST);
  return Array.from({ length: count }, (_, index) =>
    items.slice(index * ITEMS_PER_REQUEST, (index + 1) * ITEMS_PER_REQUEST),
  );
}
