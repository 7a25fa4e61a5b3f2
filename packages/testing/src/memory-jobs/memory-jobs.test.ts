import { jobsContract } from '../contracts/jobs-contract.ts';
import { openMemoryJobs } from './open-memory-jobs.ts';

jobsContract('the memory engine', {
  open: async (options) => ({ jobs: openMemoryJobs(options), close: async () => undefined }),
});
