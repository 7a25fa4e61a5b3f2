import { describe, expect, it } from 'vitest';
import type { JobsEngine } from '../../contracts/jobs/jobs-case.ts';
import { runJobsCase } from '../../contracts/jobs/jobs-case.ts';
import { jobsCases } from '../../contracts/jobs/jobs-cases.ts';
import { openMemoryJobs } from '../open-memory-jobs.ts';
import { type BrokenJobs, breakJobs } from './break-jobs.ts';
import { brokenFailures } from './broken-failures.ts';
import { brokenLeases } from './broken-leases.ts';
import { brokenQueues } from './broken-queues.ts';

const brokenEngines: readonly BrokenJobs[] = [...brokenLeases, ...brokenFailures, ...brokenQueues];

describe('bugs planted in an engine of jobs', () => {
  for (const broken of brokenEngines) {
    it(`${broken.caughtBy} finds an engine of jobs that ${broken.flaw}`, async () => {
      expect(await failures(broken)).not.toEqual([]);
    });
  }

  it('there is a planted bug against every rule that a memory engine of jobs can break', () => {
    // A memory engine cannot restart, so no bug is planted against that rule.
    const rules = new Set(jobsCases.map(({ rule }) => rule).filter((rule) => rule !== 'JOB-23'));
    expect(new Set(brokenEngines.map(({ caughtBy }) => caughtBy))).toEqual(rules);
  });
});

/** Returns the titles of the cases of the rule that fail on the broken engine. */
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
