import assert from 'node:assert/strict';
import { CLOCK_SKEW_MS_MAX } from '@tidemark/protocol';
import { type JobsCase, jobsCase } from './jobs-case.ts';
import { LEASE_MS, leased, newJob, payloadsDue, QUEUE, workOff } from './new-job.ts';

const DAY_MS = 86_400_000;
const DELAY_MS = 10_000;

/** Cases about a clock that is set back. */
export const clockCases: readonly JobsCase[] = [
  jobsCase('[JOB-42] jobs enqueued while the clock was ahead are leased after it is set back', async (fixture) => {
    const { jobs, clock } = fixture;
    clock.advance(DAY_MS);
    const line = ['x1', 'x2'].map((payload) => newJob(payload, { order: 'x' }));
    await jobs.enqueueAll(QUEUE, [newJob('a'), newJob('b'), ...line]);
    clock.advance(-DAY_MS);
    assert.deepEqual(await workOff(jobs), ['a', 'b', 'x1', 'x2']);
  }),
  jobsCase(
    '[JOB-42] a job delayed while the clock was ahead waits for its delay from when it is set back',
    async (fixture) => {
      const { jobs, clock } = fixture;
      await jobs.enqueueAll(QUEUE, [
        newJob('retried'),
        newJob('later', { dueAtMs: clock.nowMs() + DAY_MS + DELAY_MS }),
      ]);
      clock.advance(DAY_MS);
      await jobs.retry(await leased(jobs), clock.nowMs() + DELAY_MS, 'not yet');
      await jobs.enqueue(QUEUE, newJob('delayed', { dueAtMs: clock.nowMs() + DELAY_MS }));
      clock.advance(-DAY_MS);
      assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
      clock.advance(DELAY_MS - 1);
      assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
      clock.advance(1);
      assert.deepEqual(await payloadsDue(jobs), ['retried', 'delayed']);
      // A job that was delayed while the clock was right still waits for its time.
      assert.deepEqual((await jobs.inspect(QUEUE, 'delayed', { limit: 9 })).jobs.length, 1);
    },
  ),
  jobsCase(
    '[JOB-42] a lease taken while the clock was ahead lasts as long from when it is set back',
    async (fixture) => {
      const { jobs, clock } = fixture;
      await jobs.enqueueAll(QUEUE, [newJob('kept'), newJob('lost')]);
      clock.advance(DAY_MS);
      const kept = await leased(jobs);
      await leased(jobs);
      clock.advance(-DAY_MS);
      assert.equal(await jobs.acknowledge(kept), true);
      clock.advance(LEASE_MS - 1);
      assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
      clock.advance(1);
      assert.deepEqual(await payloadsDue(jobs), ['lost']);
    },
  ),
  jobsCase('[JOB-42] small differences of clocks do not change when a job is due', async (fixture) => {
    const { jobs, clock } = fixture;
    await jobs.enqueue(QUEUE, newJob('a', { dueAtMs: clock.nowMs() + DELAY_MS }));
    clock.advance(-CLOCK_SKEW_MS_MAX);
    assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
    clock.advance(CLOCK_SKEW_MS_MAX + DELAY_MS - 1);
    assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
    clock.advance(1);
    assert.deepEqual(await payloadsDue(jobs), ['a']);
  }),
];
