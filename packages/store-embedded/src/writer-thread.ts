import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Change } from '@tidemark/core';
import { type Failure, failureOf, freeBytesAt } from './failure.ts';
import { type PackedChanges, unpackChanges } from './packed-changes.ts';
import { openTables, type Tables } from './tables.ts';
import { applyTask, type Task } from './tasks.ts';

/**
 * The thread that writes. It applies whatever has arrived in one transaction, waits for the disk, and answers: while
 * it waits, the next tasks gather. So concurrent writers share a flush, and the thread that serves requests never
 * waits for one.
 */
export type WriterRequest =
  | { readonly kind: 'task'; readonly id: number; readonly task: Task }
  /** Changes of a commit, which follows as a task without any. */
  | { readonly kind: 'changes'; readonly id: number; readonly changes: PackedChanges }
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
  const gathered = new Map<number, Change[]>();
  let queue: QueuedTask[] = [];
  const runQueue = () => {
    const batch = queue;
    queue = [];
    port.postMessage(runBatch(tables, batch, () => freeBytesAt(file)));
  };
  const handle: { [K in WriterRequest['kind']]: (request: Extract<WriterRequest, { kind: K }>) => void } = {
    changes({ id, changes }) {
      const before = gathered.get(id) ?? [];
      for (const change of unpackChanges(changes)) before.push(change);
      gathered.set(id, before);
    },
    task({ id, task }) {
      if (queue.length === 0) setImmediate(runQueue);
      queue.push({ id, task: withChanges(task, gathered.get(id)) });
      gathered.delete(id);
    },
    close() {
      setImmediate(() => void tables.root.close().then(() => port.close()));
    },
  };
  port.on('message', (request: WriterRequest) => (handle[request.kind] as (request: WriterRequest) => void)(request));
  port.postMessage([]);
}

function withChanges(task: Task, changes: readonly Change[] | undefined): Task {
  if (changes === undefined || task.kind !== 'commit') return task;
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
