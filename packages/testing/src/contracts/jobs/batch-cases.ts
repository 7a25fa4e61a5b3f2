import assert from 'node:assert/strict';
import { LEASED_UNITS, type LeasedJob } from '@tidemark/core';
import { JOBS_LEASED_PER_CALL_MAX } from '@tidemark/protocol';
import { type JobsCase, jobsCase } from './jobs-case.ts';
import { idsIn, LEASE_MS, leaseAll, leased, newJob, payloadsDue, QUEUE } from './new-job.ts';

const inOrder = (payload: string, order = 'x') => newJob(payload, { order });
const payloads = (jobs: readonly LeasedJob[]) => jobs.map(({ payload }) => payload);

/** Cases about leasing and acknowledging many jobs in one call. */
export const batchCases: readonly JobsCase[] = [
  jobsCase(
    '[JOB-39] leasing many jobs in one call gives the same jobs as leasing them one by one',
    async ({ jobs, clock }) => {
      const now = clock.nowMs();
      const times = { c: now - 1, a: now - 5, later: now + 1, d: now, b: now - 5 };
      for (const [payload, dueAtMs] of Object.entries(times)) await jobs.enqueue(QUEUE, newJob(payload, { dueAtMs }));
      const first = await jobs.leaseMany(QUEUE, LEASE_MS, 3);
      assert.deepEqual(payloads(first), ['a', 'b', 'c']);
      assert.deepEqual(
        first.map(({ queue, kind, attempt, attemptsMax }) => ({ queue, kind, attempt, attemptsMax })),
        first.map(() => ({ queue: QUEUE, kind: 'test', attempt: 1, attemptsMax: 3 })),
      );
      assert.deepEqual(payloads(await jobs.leaseMany(QUEUE, LEASE_MS, 3)), ['d']);
      assert.deepEqual(await jobs.leaseMany(QUEUE, LEASE_MS, 3), []);
      assert.deepEqual(await jobs.leaseMany('other', LEASE_MS, 3), []);
      clock.advance(LEASE_MS);
      const again = await jobs.leaseMany(QUEUE, LEASE_MS, 10);
      assert.deepEqual(
        again.map(({ payload, attempt }) => [payload, attempt]),
        [['later', 1], ...['c', 'a', 'd', 'b'].map((payload) => [payload, 2])],
      );
      assert.equal(new Set([...first, ...again].map(({ lease }) => lease)).size, first.length + again.length);
    },
  ),
  jobsCase(
    '[JOB-39] leasing many jobs gives only the first of each order, and none of a paused queue',
    async ({ jobs }) => {
      await jobs.enqueueAll(QUEUE, [
        inOrder('x1'),
        inOrder('x2'),
        newJob('free'),
        inOrder('y1', 'y'),
        inOrder('y2', 'y'),
      ]);
      await jobs.pause(QUEUE);
      assert.deepEqual(await jobs.leaseMany(QUEUE, LEASE_MS, 10), []);
      await jobs.resume(QUEUE);
      assert.deepEqual(payloads(await jobs.leaseMany(QUEUE, LEASE_MS, 10)), ['x1', 'free', 'y1']);
    },
  ),
  jobsCase('[JOB-39] of many concurrent leases of many jobs, no two get the same job', async ({ jobs }) => {
    const all = Array.from({ length: 100 }, (_, number) => newJob(`${number}`));
    const ids = await jobs.enqueueAll(QUEUE, all);
    const taken = await Promise.all(Array.from({ length: 16 }, () => jobs.leaseMany(QUEUE, LEASE_MS, 7)));
    const held = taken.flat().map(({ id }) => id);
    assert.deepEqual([...held].sort(), [...ids].sort());
  }),
  jobsCase(
    '[JOB-39] jobs with large payloads are leased in smaller numbers, at least one at a time',
    async ({ jobs }) => {
      const large = 'x'.repeat(LEASED_UNITS);
      await jobs.enqueueAll(QUEUE, [newJob('small'), newJob(large), newJob(`${large}y`), newJob('last')]);
      const first = await jobs.leaseMany(QUEUE, LEASE_MS, 10);
      assert.deepEqual(
        first.map(({ payload }) => payload.length),
        [5, LEASED_UNITS],
      );
      const second = await jobs.leaseMany(QUEUE, LEASE_MS, 10);
      assert.deepEqual(
        second.map(({ payload }) => payload.length),
        [LEASED_UNITS + 1],
      );
      assert.deepEqual(payloads(await jobs.leaseMany(QUEUE, LEASE_MS, 10)), ['last']);
    },
  ),
  jobsCase('[JOB-40] acknowledging many jobs in one call returns a result for each', async ({ jobs, clock }) => {
    await jobs.enqueue(QUEUE, newJob('late', { attemptsMax: 9 }));
    const late = await leased(jobs);
    clock.advance(LEASE_MS);
    await jobs.enqueueAll(QUEUE, [newJob('a'), newJob('b'), newJob('c')]);
    const [again, a, b, c] = await jobs.leaseMany(QUEUE, LEASE_MS, 10);
    assert.ok(again !== undefined && a !== undefined && b !== undefined && c !== undefined);
    const counted = await jobs.acknowledgeAll(QUEUE, [late, a, { ...b, lease: c.lease }, c, a]);
    assert.deepEqual(counted, [false, true, false, true, false]);
    assert.deepEqual(await idsIn(jobs, 'leased'), [again.id, b.id]);
    clock.advance(10 * LEASE_MS);
    assert.deepEqual(await payloadsDue(jobs), ['late', 'b']);
    assert.deepEqual(await jobs.acknowledgeAll(QUEUE, []), []);
  }),
  jobsCase('[JOB-40] after acknowledging many jobs, the next of each order is due', async ({ jobs }) => {
    await jobs.enqueueAll(QUEUE, [inOrder('x1'), inOrder('x2'), inOrder('y1', 'y'), inOrder('y2', 'y')]);
    const held = await jobs.leaseMany(QUEUE, LEASE_MS, 10);
    assert.deepEqual(await jobs.acknowledgeAll(QUEUE, held), [true, true]);
    assert.deepEqual(payloads(await leaseAll(jobs)), ['x2', 'y2']);
  }),
  jobsCase('[JOB-40] acknowledging too many jobs, or jobs of two queues, throws', async ({ jobs }) => {
    await jobs.enqueue(QUEUE, newJob('a'));
    const job = await leased(jobs);
    const most = Array.from({ length: JOBS_LEASED_PER_CALL_MAX }, () => job);
    for (const jobsMax of [0, -1, 0.5, Number.NaN, JOBS_LEASED_PER_CALL_MAX + 1]) {
      await assert.rejects(jobs.leaseMany(QUEUE, LEASE_MS, jobsMax), RangeError);
    }
    await assert.rejects(jobs.leaseMany(QUEUE, 0, 1), RangeError);
    await assert.rejects(jobs.leaseMany('', LEASE_MS, 1), RangeError);
    await assert.rejects(jobs.acknowledgeAll(QUEUE, [...most, job]), RangeError);
    await assert.rejects(jobs.acknowledgeAll(QUEUE, [job, { ...job, queue: 'other' }]), RangeError);
    assert.deepEqual(await jobs.leaseMany(QUEUE, LEASE_MS, JOBS_LEASED_PER_CALL_MAX), []);
    assert.deepEqual((await jobs.acknowledgeAll(QUEUE, most)).filter(Boolean), [true]);
  }),
  jobsCase('[JOB-40] watchers are notified when many jobs are acknowledged', async ({ jobs }) => {
    await jobs.enqueueAll(QUEUE, [inOrder('x1'), inOrder('x2')]);
    const held = await jobs.leaseMany(QUEUE, LEASE_MS, 10);
    let heard = 0;
    const end = jobs.watch(QUEUE, () => heard++);
    await jobs.acknowledgeAll(QUEUE, held);
    end();
    assert.ok(heard > 0);
  }),
];
