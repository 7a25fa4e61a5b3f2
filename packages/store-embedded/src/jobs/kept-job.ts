import type { JobState, JobView } from '@tidemark/core/ports';
import { keyOf } from '../keys.ts';
import type { Tables } from '../tables.ts';

/** Where a job stands. `ready` is due or delayed: which of them is a matter of the time. */
export type Standing = 'ready' | 'waiting' | 'leased' | 'dead';

/** A job as it is kept; its number is its key, and its id. */
export interface KeptJob {
  readonly queue: string;
  readonly kind: string;
  readonly order: string | null;
  readonly attempt: number;
  readonly attemptsMax: number;
  readonly enqueuedAtMs: number;
  readonly dueAtMs: number;
  readonly lastReason: string | null;
  readonly standing: Standing;
  /** When it is due, when its lease runs out, when it died: whatever its standing sorts by. */
  readonly atMs: number;
  /** When it was given the time it waits for; absent in jobs from before it was kept. */
  readonly setAtMs?: number;
  /** The number of its lease; 0 when it has none. */
  readonly lease: number;
}

export function readJob(tables: Tables, number: number): KeptJob | null {
  const text = tables.jobs.get(keyOf(number));
  return text === undefined ? null : (JSON.parse(text) as KeptJob);
}

export function writeJob(tables: Tables, number: number, job: KeptJob): void {
  tables.jobs.put(keyOf(number), JSON.stringify(job));
}

/** Null: no id of this engine looks like that. */
export function numberOf(id: string): number | null {
  return /^[1-9][0-9]{0,13}$/.test(id) ? Number(id) : null;
}

export function viewOf(number: number, job: KeptJob, nowMs: number): JobView {
  const { kind, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason } = job;
  const state = stateOf(job, nowMs);
  return { id: String(number), kind, state, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason };
}

function stateOf({ standing, dueAtMs }: KeptJob, nowMs: number): JobState {
  if (standing !== 'ready') return standing;
  return dueAtMs <= nowMs ? 'due' : 'delayed';
}
