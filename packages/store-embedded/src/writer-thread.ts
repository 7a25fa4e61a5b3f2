import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import { type Failure, failureOf, freeBytesAt } from './failure.ts';
import { openTables, type Tables } from './tables.ts';
import { applyTask, type Task } from './tasks.ts';

/**
 * The thread that writes. It applies whatever has arrived in one transaction, waits for the disk, and answers: while
 * it waits, the next tasks gather. So concurrent writers share a flush, and the thread that serves requests never
 * waits for one.
 */
export type WriterRequest =
  | { readonly kind: 'task'; readonly id: number; readonly task: Task }
  /** The first changes of a commit too large for one message; the task with the rest follows. */
  | { readonly kind: 'part'; readonly id: number; readonly changes: readonly unknown[] }
  | { readonly kind: 'close' };

export interface WriterAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly failure?: Failure;
}

export interface WriterData {
  readonly file: string;
  readonly mapBytes: number;
}

type QueuedTask = { readonly id: number; readonly task: Task };

function serve(port: MessagePort, { file, mapBytes }: WriterData): void {
  const tables = openTables(file, { mapBytes });
  const parts = new Map<number, unknown[]>();
  let queue: QueuedTask[] = [];
  const runQueue = () => {
    const batch = queue;
    queue = [];
    port.postMessage(runBatch(tables, batch, () => freeBytesAt(file)));
  };
  port.on('message', (request: WriterRequest) => {
    if (request.kind === 'part') {
      const gathered = parts.get(request.id) ?? [];
      parts.set(request.id, gathered);
      gathered.push(...request.changes);
      return;
    }
    if (request.kind === 'close') {
      setImmediate(() => {
        void tables.root.close().then(() => port.close());
      });
      return;
    }
    if (queue.length === 0) setImmediate(runQueue);
    queue.push({ id: request.id, task: whole(request.task, parts.get(request.id)) });
    parts.delete(request.id);
  });
  port.postMessage([]);
}

function whole(task: Task, before: readonly unknown[] | undefined): Task {
  if (before === undefined || task.kind !== 'commit') return task;
  const changes = [...before, ...task.commit.changes] as typeof task.commit.changes;
  return { kind: 'commit', commit: { ...task.commit, changes } };
}

function runBatch(tables: Tables, batch: readonly QueuedTask[], freeBytes: () => number): readonly WriterAnswer[] {
  try {
    return tables.root.transactionSync(() => batch.map(({ id, task }) => ({ id, result: applyTask(tables, task) })));
  } catch (error) {
    // The transaction is undone. One at a time, only the task that cannot be applied fails.
    if (batch.length > 1) return batch.flatMap((queued) => runBatch(tables, [queued], freeBytes));
    return batch.map(({ id }) => ({ id, failure: failureOf(error, freeBytes) }));
  }
}

if (parentPort !== null) serve(parentPort, workerData as WriterData);
