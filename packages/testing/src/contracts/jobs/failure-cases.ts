import assert from 'node:assert/strict';
import { LEASE_RAN_OUT } from '@tidemark/core';
import { type JobsCase, jobsCase } from './jobs-case.ts';
import { idsIn, LEASE_MS, leased, newJob, payloadsDue, QUEUE, workOff } from './new-job.ts';

/** Cases about failed jobs. */
export const failureCases: readonly JobsCase[] = [
  jobsCase('[JOB-9] a retried job is due at the time given, with its reason', async ({ jobs, clock }) => {
    const now = clock.nowMs();
    const id = await jobs.enqueue(QUEUE, newJob('a'));
    assert.equal(await jobs.retry(await leased(jobs), now + 50, 'no answer'), 'retrying');
    assert.deepEqual(await jobs.find(QUEUE, id), {
      id,
      kind: 'test',
      state: 'delayed',
      order: null,
      attempt: 1,
      attemptsMax: 3,
      enqueuedAtMs: now,
      dueAtMs: now + 50,
      lastReason: 'no answer',
    });
    clock.set(now + 49);
    assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
    clock.set(now + 50);
    assert.equal((await leased(jobs)).attempt, 2);
  }),
  jobsCase('[JOB-9] a job without attempts left becomes dead', async ({ jobs, clock }) => {
    const id = await jobs.enqueue(QUEUE, newJob('a', { attemptsMax: 2 }));
    assert.equal(await jobs.retry(await leased(jobs), clock.nowMs(), 'first'), 'retrying');
    assert.equal(await jobs.retry(await leased(jobs), clock.nowMs(), 'second'), 'dead');
    clock.advance(10 * LEASE_MS);
    assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
    const view = await jobs.find(QUEUE, id);
    assert.deepEqual([view?.state, view?.attempt, view?.lastReason], ['dead', 2, 'second']);
    await assert.rejects(jobs.retry(await deadOne(), Number.NaN, 'when?'), RangeError);

    async function deadOne() {
      await jobs.enqueue(QUEUE, newJob('b'));
      return leased(jobs);
    }
  }),
  jobsCase(
    '[JOB-10] a lease that ends by time uses an attempt, and the last one makes the job dead',
    async (fixture) => {
      const { jobs, clock } = fixture;
      const id = await jobs.enqueue(QUEUE, newJob('poison', { attemptsMax: 2 }));
      for (let round = 0; round < 2; round++) {
        await leased(jobs);
        clock.advance(LEASE_MS);
      }
      assert.deepEqual(await idsIn(jobs, 'dead'), [id]);
      assert.equal((await jobs.find(QUEUE, id))?.lastReason, LEASE_RAN_OUT);
      assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
    },
  ),
  jobsCase('[JOB-11] a buried job is dead at once', async ({ jobs, clock }) => {
    const id = await jobs.enqueue(QUEUE, newJob('a', { attemptsMax: 9 }));
    assert.equal(await jobs.bury(await leased(jobs), 'never'), true);
    clock.advance(10 * LEASE_MS);
    assert.deepEqual(await payloadsDue(jobs), []);
    const view = await jobs.find(QUEUE, id);
    assert.deepEqual([view?.state, view?.attempt, view?.lastReason], ['dead', 1, 'never']);
  }),
  jobsCase(
    '[JOB-12] a job that is given back is due as before, and the attempt does not count',
    async ({ jobs, clock }) => {
      await jobs.enqueueAll(QUEUE, [newJob('a', { attemptsMax: 1 }), newJob('b')]);
      for (let round = 0; round < 3; round++) {
        clock.advance(5);
        const job = await leased(jobs);
        assert.deepEqual([job.payload, job.attempt], ['a', 1]);
        assert.equal(await jobs.giveBack(job), true);
        assert.equal(await jobs.giveBack(job), false);
      }
      assert.deepEqual(await workOff(jobs), ['a', 'b']);
    },
  ),
  jobsCase(
    '[JOB-12] a job that is given back until later is due then, says why, and the attempt does not count',
    async ({ jobs, clock }) => {
      const id = await jobs.enqueue(QUEUE, newJob('a', { attemptsMax: 1 }));
      for (let round = 0; round < 3; round++) {
        const job = await leased(jobs);
        const later = { atMs: clock.nowMs() + 7, reason: `waits ${round}` };
        assert.equal(await jobs.giveBack(job, later), true);
        assert.equal(await jobs.giveBack(job, later), false);
        const view = await jobs.find(QUEUE, id);
        assert.deepEqual([view?.state, view?.attempt, view?.dueAtMs], ['delayed', 0, later.atMs]);
        assert.equal(view?.lastReason, later.reason);
        clock.advance(7);
      }
      const held = await leased(jobs);
      await assert.rejects(jobs.giveBack(held, { atMs: Number.NaN, reason: 'when?' }), RangeError);
      assert.equal(await jobs.giveBack(held), true);
      assert.equal((await jobs.find(QUEUE, id))?.lastReason, 'waits 2');
      assert.deepEqual(await workOff(jobs), ['a']);
    },
  ),
  jobsCase('[JOB-14] a dead job can be revived, with all its attempts', async ({ jobs, clock }) => {
    const [a, b] = await jobs.enqueueAll(QUEUE, [newJob('a', { attemptsMax: 1 }), newJob('b')]);
    assert.equal(await jobs.retry(await leased(jobs), clock.nowMs(), 'broken'), 'dead');
    assert.equal(await jobs.revive(QUEUE, b ?? ''), false);
    assert.equal(await jobs.revive('other', a ?? ''), false);
    assert.equal(await jobs.revive(QUEUE, 'nonsense'), false);
    clock.advance(7);
    assert.equal(await jobs.revive(QUEUE, a ?? ''), true);
    assert.equal(await jobs.revive(QUEUE, a ?? ''), false);
    const view = await jobs.find(QUEUE, a ?? '');
    assert.deepEqual([view?.state, view?.attempt, view?.dueAtMs], ['due', 0, clock.nowMs()]);
    assert.equal(view?.lastReason, 'broken');
    assert.deepEqual(await workOff(jobs), ['b', 'a']);
  }),
];
