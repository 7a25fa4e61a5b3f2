import { type MessagePort, parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads';
import type { UnchangedObject } from '@tidemark/core/ports';
import { applyCommit, applyTrim } from './commit.ts';
import { DiskReserve } from './disk-reserve.ts';
import { applyDocument } from './documents.ts';
import { applyEntries } from './entries.ts';
import { type Failure, failureOf, freeBytesAt } from './failure.ts';
import { applyHead, applyImport } from './import.ts';
import { applyJobs } from './jobs/apply-jobs.ts';
import { applyReset } from './lifecycle.ts';
import { applyStats, applyStatsTrim } from './stats.ts';
import { openTables, type Tables } from './tables.ts';
import type { WriterChange, WriterTask } from './tasks.ts';
import { applyTidemark } from './tidemarks.ts';
import {
  encodeChanges,
  unpackChanges,
  unpackUnchanged,
  type WriterAnswer,
  type WriterData,
  type WriterReply,
  type WriterRequest,
} from './writer-messages.ts';

// The writer thread. It applies all tasks that have arrived in one transaction, waits for the disk, and answers them.
// Meanwhile the next tasks arrive. So concurrent writes share a flush, and the main thread never waits for one.

/** The parts of a large task that arrived before it. */
interface EarlierParts {
  readonly changes: WriterChange[];
  readonly kept: UnchangedObject[];
  readonly parts: Map<string, string>;
}

type QueuedTask = { readonly id: number; readonly task: WriterTask };

function serve(port: MessagePort, { file, mapBytes, readerCheckMs, lowDiskBytes }: WriterData): void {
  const tables = openTables(file, { mapBytes });
  const store = {
    tables,
    reserve: new DiskReserve(file, tables, lowDiskBytes),
    freeBytes: () => freeBytesAt(file),
  };
  // A reader that died with its process keeps old pages in use, and the file grows, until its slot is cleared.
  const readerCheck = setInterval(() => tables.root.readerCheck(), readerCheckMs);
  const earlier = new Map<number, EarlierParts>();
  const partsOf = (id: number) => {
    const parts = earlier.get(id) ?? { changes: [], kept: [], parts: new Map<string, string>() };
    earlier.set(id, parts);
    return parts;
  };
  const queue: QueuedTask[] = [];
  const runQueue = () => {
    const flushesMs: number[] = [];
    const answers = runBatch({ ...store, onFlushed: (tookMs) => flushesMs.push(tookMs) }, () => {
      receiveArrived();
      return queue.splice(0);
    });
    port.postMessage({ answers, flushesMs } satisfies WriterReply);
  };
  const enqueue = (id: number, task: WriterTask) => {
    if (queue.length === 0) setImmediate(runQueue);
    queue.push({ id, task });
  };
  const handle: { [K in WriterRequest['kind']]: (request: Extract<WriterRequest, { kind: K }>) => void } = {
    commit({ id, commit }) {
      enqueue(id, { kind: 'commit', commit: { ...commit, changes: encodeChanges(commit.changes) } });
    },
    changes({ id, changes }) {
      const parts = partsOf(id);
      for (const change of unpackChanges(changes)) parts.changes.push(change);
    },
    kept({ id, kept }) {
      const parts = partsOf(id);
      for (const object of unpackUnchanged(kept)) parts.kept.push(object);
    },
    parts({ id, parts }) {
      const documentParts = partsOf(id).parts;
      for (const [name, text] of parts) documentParts.set(name, text);
    },
    task({ id, task }) {
      enqueue(id, withEarlierParts(task, earlier.get(id)));
      earlier.delete(id);
    },
    close() {
      clearInterval(readerCheck);
      setImmediate(() => void tables.root.close().then(() => port.close()));
    },
  };
  const receive = (requests: readonly WriterRequest[]) => {
    for (const request of requests) (handle[request.kind] as (request: WriterRequest) => void)(request);
  };
  /** Takes the messages that arrived while the thread waited for another process that was writing. */
  const receiveArrived = () => {
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port))
      receive(next.message);
  };
  port.on('message', receive);
  // The first message says that the store is open.
  port.postMessage({ answers: [], flushesMs: [] } satisfies WriterReply);
}

function withEarlierParts(task: WriterTask, earlier: EarlierParts | undefined): WriterTask {
  if (earlier === undefined) return task;
  const { changes, kept, parts } = earlier;
  if (task.kind === 'commit') return { kind: 'commit', commit: { ...task.commit, changes, kept } };
  return task.kind === 'document' ? { kind: 'document', write: { ...task.write, parts } } : task;
}

interface WriterStore {
  readonly tables: Tables;
  readonly reserve: DiskReserve;
  readonly freeBytes: () => number;
  readonly onFlushed: (tookMs: number) => void;
}

const DISK_LOW: Failure = { kind: 'full', message: 'the rest of the disk is reserved for deletions' };

/** Runs the tasks that `take` returns in one transaction. It is called when no other process writes any more. */
function runBatch(store: WriterStore, take: () => readonly QueuedTask[]): readonly WriterAnswer[] {
  const { tables, reserve, freeBytes, onFlushed } = store;
  let taken: readonly QueuedTask[] | null = null;
  try {
    let appliedMs = 0;
    const answers = tables.root.transactionSync(() => {
      taken = take();
      reserve.refill();
      const applied = taken.map(({ id, task }) =>
        reserve.admits(task) ? { id, result: applyTask(tables, task) } : { id, failure: DISK_LOW },
      );
      appliedMs = performance.now();
      return applied;
    });
    onFlushed(performance.now() - appliedMs);
    return answers;
  } catch (error) {
    // The transaction could not begin, or is undone. Each task is tried alone, so that only the one that cannot be applied fails.
    const batch = taken ?? take();
    if (batch.length > 1) return batch.flatMap((queued) => runBatch(store, () => [queued]));
    return batch.map(({ id }) => ({ id, failure: failureOf(error, freeBytes) }));
  }
}

/**
 * Runs in the write transaction, where `put` and `remove` take effect at once and their promises mean nothing. A task
 * reads everything it depends on before it writes anything.
 */
function applyTask(tables: Tables, task: WriterTask): unknown {
  switch (task.kind) {
    case 'commit':
      return applyCommit(tables, task.commit);
    case 'trim':
      return applyTrim(tables, task.partition, task.upTo, task.tombstonesMax);
    case 'document':
      return applyDocument(tables, task.write);
    case 'entries':
      return applyEntries(tables, task.batch);
    case 'tidemark':
      return applyTidemark(tables, task);
    case 'stats':
      return applyStats(tables, task.rows);
    case 'trim_stats':
      return applyStatsTrim(tables, task.beforeS, task.rowsMax);
    case 'jobs':
      return applyJobs(tables, task.task);
    case 'head':
      return applyHead(tables, task.head);
    case 'import':
      return applyImport(tables, task.pieces);
    case 'reset':
      return applyReset(tables, task.keep);
  }
}

if (parentPort !== null) serve(parentPort, workerData as WriterData);
