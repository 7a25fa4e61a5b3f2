import { describe, it } from 'vitest';
import type { JobsEngine } from './jobs/jobs-case.ts';
import { runJobsCase } from './jobs/jobs-case.ts';
import { jobsCases } from './jobs/jobs-cases.ts';

/** Registers the contract of the jobs port for one engine, without cases that need what the engine cannot do. */
export function jobsContract(name: string, engine: JobsEngine): void {
  // Every case has jobs of its own, and opening them may be slow.
  describe.concurrent(`${name} keeps the contract of jobs`, () => {
    for (const jobsCase of jobsCases) {
      const { needs, title } = jobsCase;
      if (needs === null || engine[needs] !== undefined) it(title, () => runJobsCase(jobsCase, engine));
    }
  });
}
