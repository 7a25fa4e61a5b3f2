import type { Clock, Jobs } from '@tidemark/core';
import type { SettableClock } from '../../kit/settable-clock.ts';

/** What an engine brings to the contract. */
export interface JobsEngine {
  /** New and empty. */
  open(options: JobsOptions): Promise<OpenJobs>;
  /** Opens the place of closed ones again. Absent: the engine keeps nothing beyond `close`. */
  reopen?(closed: OpenJobs, options: JobsOptions): Promise<OpenJobs>;
}

export interface JobsOptions {
  readonly clock: Clock;
  readonly jobsPerQueueMax: number;
  readonly deadPerQueueMax: number;
}

export interface OpenJobs {
  readonly jobs: Jobs;
  close(): Promise<void>;
}

/** Small bounds make the tests quick. */
export const JOBS_BOUNDS = { jobsPerQueueMax: 300, deadPerQueueMax: 10 } as const;

/** What a case works with. */
export interface JobsBench {
  /** New and empty. */
  readonly jobs: Jobs;
  readonly clock: SettableClock;
  /** Closes the jobs and opens their place again. */
  reopen(): Promise<Jobs>;
}

/** One fact about every engine, as data: a suite registers it, a canary runs it on engines that are broken. */
export interface JobsCase {
  /** The rule of docs/rules.md that the fact belongs to, such as `JOB-7`. */
  readonly rule: string;
  /** Begins with the rule in brackets. */
  readonly title: string;
  /** What the engine must be able to do for the case to make sense. */
  readonly needs: 'reopen' | null;
  readonly run: (bench: JobsBench) => Promise<void>;
}

export function jobsCase(title: string, run: JobsCase['run'], needs: JobsCase['needs'] = null): JobsCase {
  const rule = /^\[(JOB-\d+)\] /.exec(title)?.[1];
  if (rule === undefined) throw new Error(`a case must begin with its rule: ${title}`);
  return { rule, title, run, needs };
}
