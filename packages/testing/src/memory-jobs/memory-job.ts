import type { JobState, JobView } from '@tidemark/core';

export interface MemoryJob {
  readonly number: number;
  readonly queue: string;
  readonly kind: string;
  readonly payload: string;
  readonly order: string | null;
  readonly attemptsMax: number;
  readonly enqueuedAtMs: number;
  attempt: number;
  dueAtMs: number;
  /** When that was said. */
  dueSetAtMs: number;
  lastReason: string | null;
  holder: { readonly lease: string; readonly sinceMs: number; readonly untilMs: number } | null;
  diedAtMs: number | null;
}

/** Returns the state of a job in its queue. */
export function stateOf(job: MemoryJob, all: readonly MemoryJob[], nowMs: number): JobState {
  if (job.diedAtMs !== null) return 'dead';
  if (job.holder !== null) return 'leased';
  if (all.some((other) => isBefore(other, job))) return 'waiting';
  return job.dueAtMs <= nowMs ? 'due' : 'delayed';
}

/** Returns true if this job must wait for the other one. */
function isBefore(other: MemoryJob, job: MemoryJob): boolean {
  if (job.order === null || other.order !== job.order || other.diedAtMs !== null) return false;
  return other.holder !== null || other.number < job.number;
}

export function viewOf(job: MemoryJob, state: JobState): JobView {
  const { number, kind, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason } = job;
  return { id: String(number), kind, state, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, lastReason };
}

/** Returns the first sort key of jobs in a state; the second is their number. */
export function rankOf(job: MemoryJob, state: JobState): number {
  if (state === 'leased') return job.holder?.untilMs ?? 0;
  if (state === 'dead') return job.diedAtMs ?? 0;
  return state === 'waiting' ? 0 : job.dueAtMs;
}
