import type { JobPage, JobState, JobView, QueueView } from '@tidemark/core/ports';
import { Refusal } from '@tidemark/protocol';
import { textsOf } from '../keys.ts';
import type { Tables } from '../tables.ts';
import { jobNumberIn, type KeyRange, keysInState, timeIn } from './job-keys.ts';
import { numberOf, readJob, readQueue, type StoredState, viewOf } from './job-rows.ts';

const STORED_STATE: Readonly<Record<JobState, StoredState>> = {
  due: 'ready',
  delayed: 'ready',
  waiting: 'waiting',
  leased: 'leased',
  dead: 'dead',
};

export function inspectJobs(
  tables: Tables,
  where: { readonly queue: string; readonly state: JobState; readonly nowMs: number },
  list: { readonly after?: string; readonly limit: number },
): JobPage {
  const range = rangeOf(where);
  const all = keysInState(where.queue, STORED_STATE[where.state]);
  const from = list.after === undefined ? { start: range.start } : startAfter(list.after, range, all);
  // One more than the limit tells whether there is another page.
  const keys = [...tables.jobIndex.getKeys({ ...from, end: range.end, limit: list.limit + 1 })];
  const shown = keys.slice(0, list.limit);
  const last = keys.length > list.limit ? shown.at(-1) : undefined;
  return {
    jobs: shown.flatMap((key) => viewAt(tables, jobNumberIn(key), where.nowMs) ?? []),
    next: last === undefined ? null : Buffer.from(last).toString('base64url'),
  };
}

function rangeOf({ queue, state, nowMs }: { queue: string; state: JobState; nowMs: number }): KeyRange {
  if (state === 'due') return keysInState(queue, 'ready', 0, nowMs);
  if (state === 'delayed') return keysInState(queue, 'ready', nowMs + 1);
  return keysInState(queue, STORED_STATE[state]);
}

/** The range of due and delayed jobs moves with the time, so the last page may have ended before its start. */
function startAfter(after: string, range: KeyRange, all: KeyRange): { start: Buffer; exclusiveStart: boolean } {
  const key = Buffer.from(after, 'base64url');
  if (key.compare(all.start) < 0 || key.compare(all.end) >= 0) {
    throw new Refusal('invalid_value', 'the value of "after" does not belong to this listing of jobs');
  }
  const isInside = key.compare(range.start) >= 0;
  return { start: isInside ? key : range.start, exclusiveStart: isInside };
}

function viewAt(tables: Tables, number: number, nowMs: number): JobView | null {
  const job = readJob(tables, number);
  return job === null ? null : viewOf(number, job, nowMs);
}

export function findJob(tables: Tables, queue: string, id: string, nowMs: number): JobView | null {
  const number = numberOf(id);
  const job = number === null ? null : readJob(tables, number);
  return number === null || job?.queue !== queue ? null : viewOf(number, job, nowMs);
}

export function describeQueue(tables: Tables, queue: string, nowMs: number): QueueView {
  const { isPaused, counts } = readQueue(tables, queue);
  const { ready, waiting, leased, dead } = counts;
  const due = ready === 0 ? 0 : tables.jobIndex.getKeysCount(keysInState(queue, 'ready', 0, nowMs));
  const states = { due, delayed: ready - due, waiting, leased, dead };
  return { queue, isPaused, counts: states, lagMs: lagOf(tables, queue, nowMs) };
}

function lagOf(tables: Tables, queue: string, nowMs: number): number {
  for (const key of tables.jobIndex.getKeys({ ...keysInState(queue, 'ready', 0, nowMs), limit: 1 })) {
    return nowMs - timeIn(key);
  }
  return 0;
}

export function queueNames(tables: Tables): readonly string[] {
  return [...tables.queues.getKeys()].map((key) => textsOf(key)[0] ?? '');
}
