import { describe, it } from 'vitest';
import type { JobsEngine } from './jobs/jobs-case.ts';
import { jobsCases } from './jobs/jobs-cases.ts';
import { runJobsCase } from './jobs/run-jobs-case.ts';

/** Registers the contract of the jobs port for one engine. What an engine cannot do is skipped by name. */
export function jobsContract(name: string, engine: JobsEngine): void {
  // Every case has jobs of its own, and opening them may be slow.
  describe.concurrent(`${name} keeps the contract of jobs`, () => {
    for (const jobsCase of jobsCases) {
      it(jobsCase.title, async (context) => {
        const { needs } = jobsCase;
        if (needs !== null && engine[needs] === undefined) return context.skip(`this engine has no ${needs}`);
        return runJobsCase(jobsCase, engine);
      });
    }
  });
}
