import type { Jobs, LeasedJob, NewJob } from '@tidemark/core';
import { JOB_LEASE_MS_MAX } from '@tidemark/protocol';
import type { BrokenJobs } from './break-jobs.ts';

export const brokenLeases: readonly BrokenJobs[] = [
  {
    flaw: 'forgets the delay of a job when the clock is set back',
    caughtBy: 'JOB-42',
    breaks: (sound) => ({ retry: (job, _atMs, reason) => sound.retry(job, 0, reason) }),
  },
  {
    flaw: 'loses the byte order mark at the beginning of a payload',
    caughtBy: 'JOB-1',
    breaks: (sound) => ({
      lease: async (queue, leaseMs) => {
        const job = await sound.lease(queue, leaseMs);
        return job && { ...job, payload: job.payload.replace(/^\ufeff/, '') };
      },
    }),
  },
  {
    flaw: 'enqueues many one after the other',
    caughtBy: 'JOB-2',
    breaks: (sound) => ({
      enqueueAll: async (queue, jobs) => {
        const ids: string[] = [];
        for (const job of jobs) ids.push(await sound.enqueue(queue, job));
        return ids;
      },
    }),
  },
  {
    flaw: 'leases in the order of enqueueing, whatever is due first',
    caughtBy: 'JOB-3',
    breaks: onEveryJob(({ dueAtMs, ...job }) => (dueAtMs === undefined ? job : { ...job, dueAtMs: 0 })),
  },
  {
    flaw: 'does not wait for the time of a job',
    caughtBy: 'JOB-4',
    breaks: onEveryJob(({ dueAtMs: _dueAtMs, ...job }) => job),
  },
  {
    flaw: 'gives concurrent leases the same job',
    caughtBy: 'JOB-5',
    breaks: (sound) => {
      let underWay: Promise<LeasedJob | null> | null = null;
      return {
        lease: (queue, leaseMs) => {
          underWay ??= sound.lease(queue, leaseMs).finally(() => {
            underWay = null;
          });
          return underWay;
        },
      };
    },
  },
  {
    flaw: 'keeps acknowledged jobs',
    caughtBy: 'JOB-6',
    breaks: (sound) => ({ acknowledge: (job) => sound.giveBack(job) }),
  },
  {
    flaw: 'never ends a lease',
    caughtBy: 'JOB-7',
    breaks: (sound) => ({ lease: (queue) => sound.lease(queue, JOB_LEASE_MS_MAX) }),
  },
  {
    flaw: 'accepts an ended lease while there is no new one',
    caughtBy: 'JOB-7',
    breaks: (sound) => ({
      acknowledge: async (job) => (await sound.acknowledge(job)) || (await sound.remove(job.queue, job.id)),
    }),
  },
  {
    flaw: 'accepts any lease of a leased job',
    caughtBy: 'JOB-7',
    breaks: (sound) => {
      const words = new Map<string, string>();
      return {
        lease: async (queue, leaseMs) => {
          const job = await sound.lease(queue, leaseMs);
          if (job !== null) words.set(job.id, job.lease);
          return job;
        },
        acknowledge: (job) => sound.acknowledge({ ...job, lease: words.get(job.id) ?? job.lease }),
      };
    },
  },
  {
    flaw: 'leases more jobs than requested',
    caughtBy: 'JOB-39',
    breaks: (sound) => ({ leaseMany: (queue, leaseMs, jobsMax) => sound.leaseMany(queue, leaseMs, jobsMax + 1) }),
  },
  {
    flaw: 'reverses the order when it leases many jobs',
    caughtBy: 'JOB-39',
    breaks: (sound) => ({
      leaseMany: async (queue, leaseMs, jobsMax) => [...(await sound.leaseMany(queue, leaseMs, jobsMax))].reverse(),
    }),
  },
  {
    flaw: 'acknowledges none of many jobs if one lease is lost',
    caughtBy: 'JOB-40',
    breaks: (sound) => ({
      acknowledgeAll: async (_queue, jobs) => {
        const counted: boolean[] = [];
        for (const job of jobs) counted.push(!counted.includes(false) && (await sound.acknowledge(job)));
        return counted;
      },
    }),
  },
  { flaw: 'does not renew leases', caughtBy: 'JOB-8', breaks: () => ({ renew: async () => true }) },
];

/** Changes every job that is enqueued. */
export function onEveryJob(change: (job: NewJob) => NewJob): (sound: Jobs) => Partial<Jobs> {
  return (sound) => ({
    enqueue: (queue, job) => sound.enqueue(queue, change(job)),
    enqueueAll: (queue, jobs) => sound.enqueueAll(queue, jobs.map(change)),
  });
}
