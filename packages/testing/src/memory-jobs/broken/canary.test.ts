import { describe, expect, it } from 'vitest';
import type { JobsEngine } from '../../contracts/jobs/jobs-case.ts';
import { jobsCases } from '../../contracts/jobs/jobs-cases.ts';
import { runJobsCase } from '../../contracts/jobs/run-jobs-case.ts';
import { openMemoryJobs } from '../open-memory-jobs.ts';
import { type BrokenJobs, breakJobs } from './break-jobs.ts';
import { brokenFailures } from './broken-failures.ts';
import { brokenLeases } from './broken-leases.ts';
import { brokenQueues } from './broken-queues.ts';

const brokenEngines: readonly BrokenJobs[] = [...brokenLeases, ...brokenFailures, ...brokenQueues];

describe('the contract notices jobs of which the engine', () => {
  for (const broken of brokenEngines) {
    it(`${broken.flaw}, by ${broken.caughtBy}`, async () => {
      expect(await failures(broken)).not.toEqual([]);
    });
  }

  it('breaks any rule that a memory engine can break', () => {
    // Restarting is beyond a memory engine; those that can do it keep that rule.
    const rules = new Set(jobsCases.map(({ rule }) => rule).filter((rule) => rule !== 'JOB-23'));
    expect(new Set(brokenEngines.map(({ caughtBy }) => caughtBy))).toEqual(rules);
  });
});

/** The titles of the cases of the rule that fail on the broken engine. */
async function failures(broken: BrokenJobs): Promise<string[]> {
  const engine: JobsEngine = {
    open: async (options) => ({ jobs: breakJobs(openMemoryJobs(options), broken), close: async () => undefined }),
  };
  const failed: string[] = [];
  for (const jobsCase of jobsCases.filter(({ rule }) => rule === broken.caughtBy)) {
    try {
      await runJobsCase(jobsCase, engine);
    } catch {
      failed.push(jobsCase.title);
    }
  }
  return failed;
}
