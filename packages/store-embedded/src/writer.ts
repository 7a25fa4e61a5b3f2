import { Worker } from 'node:worker_threads';
import type { Commit, DocumentWrite } from '@tidemark/core/ports';
import { Refusal } from '@tidemark/protocol';
import type { Failure } from './failure.ts';
import { packChanges, packKept } from './packed-changes.ts';
import type { Task } from './tasks.ts';
import type { WriterAnswer, WriterData, WriterRequest } from './writer-thread.ts';

/** Changes, or parts of a document, in one message: copying more at once would hold the event loop. */
const CHANGES_PER_MESSAGE = 2_000;

interface Waiting {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** The way to the writer thread. */
export class Writer {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onAnswers: () => void;
  readonly #ended: Promise<void>;
  readonly #idle: (() => void)[] = [];
  #lastId = 0;
  #closed: string | null = null;

  private constructor(worker: Worker, onAnswers: () => void) {
    this.#worker = worker;
    this.#onAnswers = onAnswers;
    worker.on('message', (answers: readonly WriterAnswer[]) => this.#settle(answers));
    worker.on('error', (error) => this.#fail(`the writer thread died: ${error.message}`));
    this.#ended = new Promise((resolve) => {
      worker.once('exit', () => {
        this.#fail('the writer thread ended');
        resolve();
      });
    });
  }

  /** Resolves when the thread has opened the store. `onAnswers` is called before the answers are given on. */
  static start(data: WriterData, onAnswers: () => void): Promise<Writer> {
    // Sources and build lie side by side, so this finds the built thread from either.
    // It needs none of the flags this process was started with, and some of them would stop it.
    const worker = new Worker(new URL('../dist/writer-thread.js', import.meta.url), { workerData: data, execArgv: [] });
    return new Promise((resolve, reject) => {
      worker.once('error', reject);
      worker.once('message', () => {
        worker.off('error', reject);
        resolve(new Writer(worker, onAnswers));
      });
    });
  }

  /** Why nothing can be written any more; null while all is well. */
  get closedBecause(): string | null {
    return this.#closed;
  }

  /** Resolves when the task is done and on the disk. */
  run(task: Exclude<Task, { readonly kind: 'commit' }>): Promise<unknown> {
    return this.#answered((id) =>
      task.kind === 'document' ? this.#sendDocument(id, task.write) : this.#post({ kind: 'task', id, task }),
    );
  }

  /** The same for commits. */
  commit(commit: Commit): Promise<unknown> {
    return this.#answered((id) => this.#sendCommit(id, commit));
  }

  async #answered(send: (id: number) => Promise<void> | void): Promise<unknown> {
    if (this.#closed !== null) throw new Refusal('store_unavailable', this.#closed);
    const id = ++this.#lastId;
    const done = new Promise<unknown>((resolve, reject) => {
      this.#waiting.set(id, { resolve, reject });
    });
    const [, result] = await Promise.all([send(id), done]);
    return result;
  }

  /** Finishes what was asked before. */
  async close(): Promise<void> {
    if (this.#closed === null) {
      this.#closed = 'the store is closed';
      if (this.#waiting.size > 0) await new Promise<void>((resolve) => this.#idle.push(resolve));
      this.#post({ kind: 'close' });
    }
    await this.#ended;
  }

  async #sendCommit(id: number, commit: Commit): Promise<void> {
    const { changes, kept = [] } = commit;
    for (const [index, some] of portions(changes).entries()) {
      if (index > 0) await new Promise((resolve) => setImmediate(resolve));
      const packed = packChanges(some);
      this.#post({ kind: 'changes', id, changes: packed }, [packed.records.buffer]);
    }
    for (const some of portions(kept)) {
      await new Promise((resolve) => setImmediate(resolve));
      this.#post({ kind: 'kept', id, kept: packKept(some) });
    }
    this.#post({ kind: 'task', id, task: { kind: 'commit', commit: { ...commit, changes: [], kept: [] } } });
  }

  async #sendDocument(id: number, write: DocumentWrite): Promise<void> {
    if (write.parts.size <= CHANGES_PER_MESSAGE) {
      return this.#post({ kind: 'task', id, task: { kind: 'document', write } });
    }
    for (const some of portions([...write.parts])) {
      this.#post({ kind: 'parts', id, parts: new Map(some) });
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#post({ kind: 'task', id, task: { kind: 'document', write: { ...write, parts: new Map() } } });
  }

  /** `given` is handed over instead of being copied. */
  #post(request: WriterRequest, given: readonly ArrayBuffer[] = []): void {
    this.#worker.postMessage(request, given);
  }

  #settle(answers: readonly WriterAnswer[]): void {
    this.#onAnswers();
    for (const { id, result, failure } of answers) {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (failure === undefined) waiting?.resolve(result);
      else waiting?.reject(errorOf(failure));
    }
    if (this.#waiting.size === 0) this.#tellIdle();
  }

  #tellIdle(): void {
    for (const tell of this.#idle.splice(0)) tell();
  }

  /** Nothing is answered any more, so nobody may go on waiting. */
  #fail(reason: string): void {
    this.#closed ??= reason;
    for (const waiting of this.#waiting.values()) waiting.reject(new Refusal('store_unavailable', reason));
    this.#waiting.clear();
    this.#tellIdle();
  }
}

function errorOf({ kind, message }: Failure): Error {
  if (kind === 'bug') return new Error(message);
  const refusal =
    kind === 'full'
      ? new Refusal('store_full', 'the disk of the store is full; reading and deleting still work')
      : new Refusal('store_unavailable', 'the store could not write to its disk');
  // For the log: what the engine says names files and places in them.
  refusal.cause = new Error(message);
  return refusal;
}

/** What fits into one message each. */
function portions<T>(items: readonly T[]): readonly (readonly T[])[] {
  if (items.length <= CHANGES_PER_MESSAGE) return items.length === 0 ? [] : [items];
  const count = Math.ceil(items.length / CHANGES_PER_MESSAGE);
  return Array.from({ length: count }, (_, index) =>
    items.slice(index * CHANGES_PER_MESSAGE, (index + 1) * CHANGES_PER_MESSAGE),
  );
}
