import assert from 'node:assert/strict';
import { Rng, seededRandom } from '@tidemark/client-testing';
import { IS_LONG } from '../../kit/is-long.ts';
import { openMemoryJobs } from '../../memory-jobs/open-memory-jobs.ts';
import { JOBS_BOUNDS, type JobsCase, jobsCase } from './jobs-case.ts';
import { idsIn, LEASE_MS, leased, newJob, QUEUE, workOff } from './new-job.ts';
import { RandomJobsHistory } from './random-jobs-history.ts';

const SEEDS = IS_LONG ? [1, 2, 3, 4, 5] : [1, 2];
const STEPS = 200;

/** Cases about random histories and restarts. */
export const historyCases: readonly JobsCase[] = [
  ...SEEDS.map((seed) =>
    jobsCase(
      `[JOB-22] a random history gives the same results as on the memory engine (seed ${seed})`,
      async (fixture) => {
        const { jobs, clock } = fixture;
        const plain = openMemoryJobs({ clock, ...JOBS_BOUNDS });
        await new RandomJobsHistory({ left: plain, right: jobs }, clock, new Rng(seededRandom(seed))).run(STEPS);
      },
    ),
  ),
  jobsCase(
    '[JOB-23] jobs, leases, orders and pauses survive a restart',
    async ({ jobs, clock, reopen }) => {
      const inOrder = (payload: string) => newJob(payload, { order: 'x' });
      await jobs.enqueueAll(QUEUE, [inOrder('x1'), inOrder('x2'), newJob('dead', { dueAtMs: 1 })]);
      await jobs.bury(await leased(jobs), 'broken');
      const held = await leased(jobs);
      await jobs.pause('other');
      const again = await reopen();
      assert.deepEqual(await again.queues(), ['other', QUEUE]);
      assert.equal((await again.describe('other')).isPaused, true);
      assert.equal(await again.lease(QUEUE, LEASE_MS), null);
      const [dead = ''] = await idsIn(again, 'dead');
      assert.equal((await again.find(QUEUE, dead))?.lastReason, 'broken');
      assert.equal(await again.acknowledge(held), true);
      const id = await again.enqueue(QUEUE, inOrder('x3'));
      assert.ok(![held.id, dead].includes(id));
      assert.deepEqual(await workOff(again), ['x2', 'x3']);
      await again.enqueue(QUEUE, newJob('late'));
      const late = await leased(again);
      assert.notEqual(late.lease, held.lease);
      const last = await reopen();
      clock.advance(LEASE_MS);
      assert.deepEqual(await workOff(last), ['late']);
    },
    'reopen',
  ),
];
