import { type MessagePort, parentPort, workerData } from 'node:worker_threads';
import type { Kept } from '@tidemark/core/ports';
import { type Failure, failureOf, freeBytesAt } from './failure.ts';
import {
  type PackedChanges,
  type PackedKept,
  unpackChanges,
  unpackKept,
  type WrittenChange,
} from './packed-changes.ts';
import { Reserve } from './reserve.ts';
import { openTables, type Tables } from './tables.ts';
import { applyTask, type Task } from './tasks.ts';

/**
 * The thread that writes. It applies whatever has arrived in one transaction, waits for the disk, and answers: while
 * it waits, the next tasks gather. So concurrent writers share a flush, and the thread that serves requests never
 * waits for one.
 */
export type WriterRequest =
  | { readonly kind: 'task'; readonly id: number; readonly task: Task }
  /** Changes of a commit, and what it leaves alone; the task follows without either. */
  | { readonly kind: 'changes'; readonly id: number; readonly changes: PackedChanges }
  | { readonly kind: 'kept'; readonly id: number; readonly kept: PackedKept }
  /** Parts of a document; the task follows without them. */
  | { readonly kind: 'parts'; readonly id: number; readonly parts: ReadonlyMap<string, string> }
  | { readonly kind: 'close' };

export interface WriterAnswer {
  readonly id: number;
  readonly result?: unknown;
  readonly failure?: Failure;
}

export interface WriterData {
  readonly file: string;
  readonly mapBytes: number;
  /** How often to look for readers that died. */
  readonly readerCheckMs: number;
  /** With less free disk than this, a reserve is kept for deletions. */
  readonly lowDiskBytes: number;
}

/** What came ahead of its task. */
interface Gathered {
  readonly changes: WrittenChange[];
  readonly kept: Kept[];
  readonly parts: Map<string, string>;
}

type QueuedTask = { readonly id: number; readonly task: Task };

function serve(port: MessagePort, { file, mapBytes, readerCheckMs, lowDiskBytes }: WriterData): void {
  const tables = openTables(file, { mapBytes });
  const reserve = new Reserve(file, tables, lowDiskBytes);
  // The place of a reader that died with its process pins old pages, and the file grows, until somebody clears it.
  const checking = setInterval(() => tables.root.readerCheck(), readerCheckMs);
  const gathered = new Map<number, Gathered>();
  const gather = (id: number) => {
    const parts = gathered.get(id) ?? { changes: [], kept: [], parts: new Map<string, string>() };
    gathered.set(id, parts);
    return parts;
  };
  let queue: QueuedTask[] = [];
  const runQueue = () => {
    const batch = queue;
    queue = [];
    port.postMessage(runBatch({ tables, reserve, freeBytes: () => freeBytesAt(file) }, batch));
  };
  const handle: { [K in WriterRequest['kind']]: (request: Extract<WriterRequest, { kind: K }>) => void } = {
    changes({ id, changes }) {
      const parts = gather(id);
      for (const change of unpackChanges(changes)) parts.changes.push(change);
    },
    kept({ id, kept }) {
      const parts = gather(id);
      for (const object of unpackKept(kept)) parts.kept.push(object);
    },
    parts({ id, parts }) {
      const gatheredParts = gather(id).parts;
      for (const [name, text] of parts) gatheredParts.set(name, text);
    },
    task({ id, task }) {
      if (queue.length === 0) setImmediate(runQueue);
      queue.push({ id, task: withGathered(task, gathered.get(id)) });
      gathered.delete(id);
    },
    close() {
      clearInterval(checking);
      setImmediate(() => void tables.root.close().then(() => port.close()));
    },
  };
  port.on('message', (request: WriterRequest) => (handle[request.kind] as (request: WriterRequest) => void)(request));
  port.postMessage([]);
}

function withGathered(task: Task, gathered: Gathered | undefined): Task {
  if (gathered === undefined) return task;
  const { changes, kept, parts } = gathered;
  if (task.kind === 'commit') return { kind: 'commit', commit: { ...task.commit, changes, kept } };
  return task.kind === 'document' ? { kind: 'document', write: { ...task.write, parts } } : task;
}

interface Store {
  readonly tables: Tables;
  readonly reserve: Reserve;
  readonly freeBytes: () => number;
}

const DISK_LOW: Failure = { kind: 'full', message: 'what is left of the disk is kept for deletions' };

function runBatch(store: Store, batch: readonly QueuedTask[]): readonly WriterAnswer[] {
  const { tables, reserve, freeBytes } = store;
  try {
    return tables.root.transactionSync(() => {
      reserve.refill();
      return batch.map(({ id, task }) =>
        reserve.admits(task) ? { id, result: applyTask(tables, task) } : { id, failure: DISK_LOW },
      );
    });
  } catch (error) {
    // The transaction is undone. One at a time, only the task that cannot be applied fails.
    if (batch.length > 1) return batch.flatMap((queued) => runBatch(store, [queued]));
    return batch.map(({ id }) => ({ id, failure: failureOf(error, freeBytes) }));
  }
}

if (parentPort !== null) serve(parentPort, workerData as WriterData);
