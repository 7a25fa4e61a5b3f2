import { Refusal } from '@tidemark/protocol';
import type { BrokenJobs } from './break-jobs.ts';

export const brokenQueues: readonly BrokenJobs[] = [
  { flaw: 'cannot be paused', caughtBy: 'JOB-16', breaks: () => ({ pause: async () => undefined }) },
  {
    flaw: 'pauses all queues at once',
    caughtBy: 'JOB-16',
    breaks: (sound) => {
      const paused = new Set<string>();
      return {
        pause: async (queue) => {
          paused.add(queue);
          await sound.pause(queue);
        },
        resume: async (queue) => {
          paused.delete(queue);
          await sound.resume(queue);
        },
        lease: async (queue, leaseMs) => (paused.size > 0 ? null : sound.lease(queue, leaseMs)),
      };
    },
  },
  {
    flaw: 'lists from the beginning every time',
    caughtBy: 'JOB-17',
    breaks: (sound) => ({
      inspect: async (queue, state, { after, limit }) => {
        const page = await sound.inspect(queue, state, { limit });
        return after === undefined ? page : { ...page, next: null };
      },
    }),
  },
  {
    flaw: 'reports that there is no next page',
    caughtBy: 'JOB-17',
    breaks: (sound) => ({
      inspect: async (queue, state, list) => ({ ...(await sound.inspect(queue, state, list)), next: null }),
    }),
  },
  {
    flaw: 'counts delayed jobs as due',
    caughtBy: 'JOB-18',
    breaks: (sound) => ({
      describe: async (queue) => {
        const view = await sound.describe(queue);
        const { due, delayed } = view.counts;
        return { ...view, counts: { ...view.counts, due: due + delayed, delayed: 0 } };
      },
    }),
  },
  {
    flaw: 'always reports no lateness',
    caughtBy: 'JOB-18',
    breaks: (sound) => ({ describe: async (queue) => ({ ...(await sound.describe(queue)), lagMs: 0 }) }),
  },
  {
    flaw: 'sorts queues by UTF-16 units',
    caughtBy: 'JOB-19',
    breaks: (sound) => ({ queues: async () => [...(await sound.queues())].sort() }),
  },
  {
    flaw: 'drops jobs of a full queue',
    caughtBy: 'JOB-20',
    breaks: (sound) => ({
      enqueueAll: (queue, jobs) =>
        sound.enqueueAll(queue, jobs).catch((error: unknown) => {
          if (error instanceof Refusal) return [];
          throw error;
        }),
    }),
  },
  { flaw: 'does not notify watchers', caughtBy: 'JOB-21', breaks: () => ({ watch: () => () => undefined }) },
  {
    flaw: 'retries one millisecond late',
    caughtBy: 'JOB-22',
    breaks: (sound) => ({ retry: (job, atMs, reason) => sound.retry(job, atMs + 1, reason) }),
  },
];
