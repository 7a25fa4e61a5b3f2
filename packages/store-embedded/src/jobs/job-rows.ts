import type { JobState, JobView } from '@tidemark/core/ports';
import { keyOf } from '../keys.ts';
import type { Tables } from '../tables.ts';

/** The state of a job as it is stored. Whether a `ready` job is due or delayed depends on the time. */
export type StoredState = 'ready' | 'waiting' | 'leased' | 'dead';

/** The row of a job. Its key is the number of the job, which is also its id. */
export interface JobRow {
  readonly queue: string;
  readonly kind: string;
  readonly order: string | null;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly enqueuedAtMs: number;
  readonly dueAtMs: number;
  readonly lastReason: string | null;
  readonly state: StoredState;
  /** What jobs of this state are sorted by: when it is due, when its lease expires, or when it died. */
  readonly atMs: number;
  /** When `dueAtMs` or the lease was set. Absent in a job that was imported; then `enqueuedAtMs` counts. */
  readonly setAtMs?: number;
  /** The number of its lease; 0 when it has none. */
  readonly lease: number;
}

export function readJob(tables: Tables, number: number): JobRow | null {
  const text = tables.jobs.get(keyOf(number));
  return text === undefined ? null : (JSON.parse(text) as JobRow);
}

export function writeJob(tables: Tables, number: number, job: JobRow): void {
  tables.jobs.put(keyOf(number), JSON.stringify(job));
}

/** Returns null for a text that cannot be an id of this engine. */
export function numberOf(id: string): number | null {
  return /^[1-9][0-9]{0,13}$/.test(id) ? Number(id) : null;
}

export function viewOf(number: number, job: JobRow, nowMs: number): JobView {
  const { kind, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason } = job;
  const state = stateOf(job, nowMs);
  return { id: String(number), kind, state, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason };
}

function stateOf({ state, dueAtMs }: JobRow, nowMs: number): JobState {
  if (state !== 'ready') return state;
  return dueAtMs <= nowMs ? 'due' : 'delayed';
}

/** The row of a queue. It exists while the queue has jobs or is paused. */
export interface QueueRow {
  readonly isPaused: boolean;
  readonly counts: Readonly<Record<StoredState, number>>;
  /** The latest time at which a job of the queue was given a time. Absent in a queue that was imported. */
  readonly latestMs?: number;
}

const EMPTY_QUEUE: QueueRow = { isPaused: false, counts: { ready: 0, waiting: 0, leased: 0, dead: 0 } };

export function readQueue(tables: Tables, queue: string): QueueRow {
  const text = tables.queues.get(keyOf(queue));
  return text === undefined ? EMPTY_QUEUE : (JSON.parse(text) as QueueRow);
}

/** Removes the row of a queue that is empty and not paused, so that unused names leave nothing behind. */
export function writeQueue(tables: Tables, queue: string, row: QueueRow): void {
  const { ready, waiting, leased, dead } = row.counts;
  if (!row.isPaused && ready + waiting + leased + dead === 0) tables.queues.remove(keyOf(queue));
  else tables.queues.put(keyOf(queue), JSON.stringify(row));
}
