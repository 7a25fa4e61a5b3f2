import { settableClock } from '../../kit/settable-clock.ts';
import { JOBS_BOUNDS, type JobsCase, type JobsEngine, type OpenJobs } from './jobs-case.ts';

/** Runs one case on jobs of its own, and lets go of everything it opened. */
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
