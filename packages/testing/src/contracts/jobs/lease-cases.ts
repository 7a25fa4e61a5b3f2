import assert from 'node:assert/strict';
import { type JobsCase, jobsCase } from './jobs-case.ts';
import { idsIn, LEASE_MS, leaseAll, leased, newJob, payloadsDue, QUEUE, workOff } from './new-job.ts';

/** Cases about enqueueing, leasing and acknowledging. */
export const leaseCases: readonly JobsCase[] = [
  jobsCase('[JOB-1] a job is leased as it was enqueued', async ({ jobs }) => {
    const id = await jobs.enqueue(QUEUE, newJob('text', { kind: 'ping', attemptsMax: 5 }));
    const { lease, ...job } = await leased(jobs);
    assert.deepEqual(job, { id, queue: QUEUE, kind: 'ping', payload: 'text', attempt: 1, attemptsMax: 5 });
    assert.notEqual(lease, '');
    assert.equal(await jobs.lease('other', LEASE_MS), null);
  }),
  jobsCase('[JOB-1] payloads of jobs are returned unchanged', async ({ jobs }) => {
    const texts = ['', '\u0000', '\ufeffbom', '"{}', '💧'.repeat(1_000), 'x'.repeat(1_000_000), 'line\r\nline\u2028'];
    await jobs.enqueueAll(
      QUEUE,
      texts.map((text) => newJob(text)),
    );
    assert.deepEqual(await payloadsDue(jobs), texts);
  }),
  jobsCase('[JOB-2] many jobs are enqueued in one step, and their ids are returned in order', async ({ jobs }) => {
    const payloads = Array.from({ length: 100 }, (_, number) => `job ${number}`);
    const ids = await jobs.enqueueAll(
      QUEUE,
      payloads.map((payload) => newJob(payload)),
    );
    assert.equal(new Set(ids).size, 100);
    const all = await leaseAll(jobs);
    assert.deepEqual(
      all.map(({ id, payload }) => [id, payload]),
      payloads.map((payload, index) => [ids[index], payload]),
    );
    assert.deepEqual(await jobs.enqueueAll(QUEUE, []), []);
  }),
  jobsCase('[JOB-2] an invalid call to enqueue throws and enqueues nothing', async ({ jobs }) => {
    const good = newJob('good');
    const bad = [
      newJob('none', { attemptsMax: 0 }),
      newJob('half', { attemptsMax: 1.5 }),
      newJob('never', { dueAtMs: Number.POSITIVE_INFINITY }),
      newJob('before all time', { dueAtMs: -1 }),
      newJob('torn \ud800'),
      newJob('torn', { order: '\udc00' }),
      newJob('long', { order: 'x'.repeat(2_049) }),
      newJob('nameless', { kind: '' }),
    ];
    for (const job of bad) await assert.rejects(jobs.enqueueAll(QUEUE, [good, job]), RangeError);
    for (const queue of ['', '*', 'a\u0000b', 'x'.repeat(256)]) {
      await assert.rejects(jobs.enqueue(queue, good), RangeError);
      await assert.rejects(jobs.lease(queue, LEASE_MS), RangeError);
    }
    for (const leaseMs of [0, -1, 0.5, Number.NaN, 86_400_001]) {
      await assert.rejects(jobs.lease(QUEUE, leaseMs), RangeError);
    }
    assert.deepEqual(await jobs.queues(), []);
  }),
  jobsCase(
    '[JOB-3] due jobs are leased by due time, those of the same time in the order of enqueueing',
    async (fixture) => {
      const { jobs, clock } = fixture;
      const now = clock.nowMs();
      const times = { c: now - 1, a: now - 5, d: now, b: now - 5, e: now };
      for (const [payload, dueAtMs] of Object.entries(times)) await jobs.enqueue(QUEUE, newJob(payload, { dueAtMs }));
      assert.deepEqual(await payloadsDue(jobs), ['a', 'b', 'c', 'd', 'e']);
    },
  ),
  jobsCase(
    '[JOB-4] a delayed job is not leased before its time, and does not block others',
    async ({ jobs, clock }) => {
      const now = clock.nowMs();
      await jobs.enqueue(QUEUE, newJob('later', { dueAtMs: now + 10 }));
      await jobs.enqueue(QUEUE, newJob('now'));
      assert.deepEqual(await workOff(jobs), ['now']);
      clock.set(now + 9);
      assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
      clock.set(now + 10);
      assert.deepEqual(await workOff(jobs), ['later']);
    },
  ),
  jobsCase('[JOB-5] of many concurrent leases, no two get the same job', async ({ jobs }) => {
    const payloads = Array.from({ length: 40 }, (_, number) => `${number}`);
    await jobs.enqueueAll(
      QUEUE,
      payloads.map((payload) => newJob(payload)),
    );
    const taken = await Promise.all(Array.from({ length: 64 }, () => jobs.lease(QUEUE, LEASE_MS)));
    const held = taken.filter((job) => job !== null);
    assert.deepEqual(new Set(held.map(({ payload }) => payload)), new Set(payloads));
    assert.equal(held.length, 40);
    assert.equal(new Set(held.map(({ lease }) => lease)).size, 40);
  }),
  jobsCase('[JOB-5] of many concurrent acknowledgements of a job, one succeeds', async ({ jobs }) => {
    await jobs.enqueue(QUEUE, newJob('a'));
    const job = await leased(jobs);
    const answers = await Promise.all(Array.from({ length: 16 }, () => jobs.acknowledge(job)));
    assert.equal(answers.filter((isDone) => isDone).length, 1);
  }),
  jobsCase('[JOB-6] an acknowledged job is deleted', async ({ jobs, clock }) => {
    const id = await jobs.enqueue(QUEUE, newJob('a'));
    const job = await leased(jobs);
    assert.equal(await jobs.acknowledge(job), true);
    assert.equal(await jobs.acknowledge(job), false);
    clock.advance(10 * LEASE_MS);
    assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
    assert.equal(await jobs.find(QUEUE, id), null);
    assert.equal(await jobs.revive(QUEUE, id), false);
    assert.equal(await jobs.retry(job, clock.nowMs(), 'late'), 'lease_lost');
  }),
  jobsCase(
    '[JOB-7] when a lease ends by time, the job is due again and the attempt counts',
    async ({ jobs, clock }) => {
      await jobs.enqueue(QUEUE, newJob('a'));
      const first = await leased(jobs);
      clock.advance(LEASE_MS - 1);
      assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
      clock.advance(1);
      const second = await leased(jobs);
      assert.deepEqual([second.id, second.payload, second.attempt], [first.id, 'a', 2]);
      assert.notEqual(second.lease, first.lease);
    },
  ),
  jobsCase(
    '[JOB-7] an ended lease changes nothing, whether or not another holder has the job',
    async ({ jobs, clock }) => {
      const id = await jobs.enqueue(QUEUE, newJob('a', { attemptsMax: 9 }));
      const old = await leased(jobs);
      clock.advance(LEASE_MS);
      const insist = async () => {
        assert.equal(await jobs.renew(old, LEASE_MS), false);
        assert.equal(await jobs.acknowledge(old), false);
        assert.equal(await jobs.retry(old, clock.nowMs(), 'late'), 'lease_lost');
        assert.equal(await jobs.bury(old, 'late'), false);
        assert.equal(await jobs.giveBack(old), false);
      };
      await insist();
      assert.deepEqual(await idsIn(jobs, 'due'), [id]);
      const now = await leased(jobs);
      await insist();
      assert.equal(await jobs.acknowledge(now), true);
    },
  ),
  jobsCase('[JOB-7] a lease is valid for its own job and queue only', async ({ jobs }) => {
    await jobs.enqueueAll(QUEUE, [newJob('a'), newJob('b')]);
    await jobs.enqueue('other', newJob('c'));
    const a = await leased(jobs);
    const b = await leased(jobs);
    const c = await leased(jobs, 'other');
    assert.equal(await jobs.acknowledge({ ...a, lease: b.lease }), false);
    assert.equal(await jobs.acknowledge({ ...c, queue: QUEUE }), false);
    assert.equal(await jobs.acknowledge({ ...a, id: 'nonsense' }), false);
    for (const job of [a, b, c]) assert.equal(await jobs.acknowledge(job), true);
  }),
  jobsCase('[JOB-8] a renewed lease lasts from the time of its renewal', async ({ jobs, clock }) => {
    await jobs.enqueue(QUEUE, newJob('a'));
    const job = await leased(jobs);
    for (let round = 0; round < 3; round++) {
      clock.advance(LEASE_MS - 1);
      assert.equal(await jobs.renew(job, LEASE_MS), true);
    }
    assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
    clock.advance(1);
    assert.equal(await jobs.renew(job, 1), true);
    clock.advance(1);
    assert.equal(await jobs.acknowledge(job), false);
    assert.equal((await leased(jobs)).attempt, 2);
  }),
];
