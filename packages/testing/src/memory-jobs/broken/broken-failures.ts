import type { LeasedJob } from '@tidemark/core';
import type { BrokenJobs } from './break-jobs.ts';
import { onEveryJob } from './broken-leases.ts';

export const brokenFailures: readonly BrokenJobs[] = [
  {
    flaw: 'retries at once',
    caughtBy: 'JOB-9',
    breaks: (sound) => ({ retry: (job, _atMs, reason) => sound.retry(job, 0, reason) }),
  },
  {
    flaw: 'does not count attempts that are retried',
    caughtBy: 'JOB-9',
    breaks: (sound) => ({ retry: async (job) => ((await sound.giveBack(job)) ? 'retrying' : 'lease_lost') }),
  },
  {
    flaw: 'forgets why a job failed',
    caughtBy: 'JOB-9',
    breaks: (sound) => ({ retry: (job, atMs) => sound.retry(job, atMs, '') }),
  },
  {
    flaw: 'allows one attempt too many',
    caughtBy: 'JOB-10',
    breaks: onEveryJob((job) => ({ ...job, attemptsMax: job.attemptsMax + 1 })),
  },
  {
    flaw: 'runs buried jobs again',
    caughtBy: 'JOB-11',
    breaks: (sound) => ({ bury: async (job, reason) => (await sound.retry(job, 0, reason)) !== 'lease_lost' }),
  },
  {
    flaw: 'counts the attempt of a job that is given back',
    caughtBy: 'JOB-12',
    breaks: (sound) => ({ giveBack: async (job) => (await sound.retry(job, 0, 'given back')) !== 'lease_lost' }),
  },
  {
    flaw: 'runs a job at once that is given back until later',
    caughtBy: 'JOB-12',
    breaks: (sound) => ({ giveBack: (job) => sound.giveBack(job) }),
  },
  { flaw: 'ignores orders', caughtBy: 'JOB-13', breaks: onEveryJob(({ order: _order, ...job }) => job) },
  {
    flaw: 'treats orders as equal that differ only in case',
    caughtBy: 'JOB-13',
    breaks: onEveryJob(({ order, ...job }) => (order === undefined ? job : { ...job, order: order.toLowerCase() })),
  },
  { flaw: 'does not revive jobs', caughtBy: 'JOB-14', breaks: () => ({ revive: async () => true }) },
  {
    flaw: 'removes leased jobs',
    caughtBy: 'JOB-15',
    breaks: (sound) => {
      const held = new Map<string, LeasedJob>();
      return {
        lease: async (queue, leaseMs) => {
          const job = await sound.lease(queue, leaseMs);
          if (job !== null) held.set(job.id, job);
          return job;
        },
        remove: async (queue, id) => {
          if (await sound.remove(queue, id)) return true;
          const job = held.get(id);
          return job !== undefined && sound.acknowledge(job);
        },
      };
    },
  },
];
