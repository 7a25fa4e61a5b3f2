import type { Clock, Jobs } from '@tidemark/core';
import { type SettableClock, settableClock } from '../../kit/settable-clock.ts';

/** The engine under test. */
export interface JobsEngine {
  /** A new, empty one. */
  open(options: JobsOptions): Promise<OpenJobs>;
  /** Opens closed jobs again. Absent: the engine keeps nothing after `close`. */
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

/** Bounds of the engine; small ones make tests fast. */
export const JOBS_BOUNDS = { jobsPerQueueMax: 300, deadPerQueueMax: 10 } as const;

/** What a case gets. */
export interface JobsFixture {
  /** A new, empty one. */
  readonly jobs: Jobs;
  readonly clock: SettableClock;
  /** Closes the jobs and opens them again. */
  reopen(): Promise<Jobs>;
}

/** One promise of every engine as data: a suite registers it, a canary test runs it on broken engines. */
export interface JobsCase {
  /** The rule of docs/rules.md, such as `JOB-7`. */
  readonly rule: string;
  /** Begins with the rule in brackets. */
  readonly title: string;
  /** What the engine must be able to do. */
  readonly needs: 'reopen' | null;
  readonly run: (fixture: JobsFixture) => Promise<void>;
}

export function jobsCase(title: string, run: JobsCase['run'], needs: JobsCase['needs'] = null): JobsCase {
  const rule = /^\[(JOB-\d+)\] /.exec(title)?.[1];
  if (rule === undefined) throw new Error(`a case must begin with its rule: ${title}`);
  return { rule, title, run, needs };
}

/** Runs one case on new jobs, and closes everything it opened. */
export async function runJobsCase(jobsCase: JobsCase, engine: JobsEngine): Promise<void> {
  const clock = settableClock();
  const options = { clock, ...JOBS_BOUNDS };
  let open: OpenJobs = await engine.open(options);
  const reopen = async () => {
    if (engine.reopen === undefined) throw new Error('this engine cannot reopen jobs');
    await open.close();
    open = await engine.reopen(open, options);
    return open.jobs;
  };
  try {
    await jobsCase.run({ jobs: open.jobs, clock, reopen });
  } finally {
    await open.close();
  }
}
