import assert from 'node:assert/strict';
import { type JobsCase, jobsCase } from './jobs-case.ts';
import { idsIn, LEASE_MS, leased, newJob, payloadsDue, QUEUE, workOff } from './new-job.ts';

const inOrder = (payload: string, order = 'x', more = {}) => newJob(payload, { order, ...more });

/** Cases about ordered jobs. */
export const orderCases: readonly JobsCase[] = [
  jobsCase('[JOB-13] jobs of an order run one after the other, concurrently with all others', async ({ jobs }) => {
    await jobs.enqueueAll(QUEUE, [inOrder('x1'), inOrder('x2'), inOrder('y1', 'y'), inOrder('x3'), newJob('free')]);
    await jobs.enqueue('other', inOrder('elsewhere'));
    const x1 = await leased(jobs);
    assert.deepEqual([x1.payload, await payloadsDue(jobs)], ['x1', ['y1', 'free']]);
    assert.deepEqual(await payloadsDue(jobs, 'other'), ['elsewhere']);
    await jobs.acknowledge(x1);
    const x2 = await leased(jobs);
    assert.deepEqual([x2.payload, await payloadsDue(jobs)], ['x2', []]);
    await jobs.acknowledge(x2);
    assert.deepEqual(await workOff(jobs), ['x3']);
    await jobs.enqueue(QUEUE, inOrder('x4'));
    assert.deepEqual(await workOff(jobs), ['x4']);
  }),
  jobsCase('[JOB-13] the next job of an order waits until the first one is acknowledged or dead', async (fixture) => {
    const { jobs, clock } = fixture;
    await jobs.enqueueAll(QUEUE, [inOrder('x1', 'x', { attemptsMax: 4 }), inOrder('x2')]);
    await jobs.giveBack(await leased(jobs));
    await leased(jobs);
    clock.advance(LEASE_MS);
    const job = await leased(jobs);
    assert.deepEqual([job.payload, job.attempt], ['x1', 2]);
    assert.equal(await jobs.retry(job, clock.nowMs() + 10, 'not yet'), 'retrying');
    assert.deepEqual(await payloadsDue(jobs), []);
    clock.advance(10);
    assert.equal(await jobs.bury(await leased(jobs), 'never'), true);
    assert.deepEqual(await payloadsDue(jobs), ['x2']);
  }),
  jobsCase('[JOB-13] when a job dies by its last lease, the next one of its order follows', async ({ jobs, clock }) => {
    await jobs.enqueueAll(QUEUE, [inOrder('x1', 'x', { attemptsMax: 1 }), inOrder('x2'), inOrder('x3')]);
    await leased(jobs);
    clock.advance(LEASE_MS);
    assert.deepEqual(await workOff(jobs), ['x2', 'x3']);
  }),
  jobsCase('[JOB-13] jobs of an order wait for its first one, even if that is delayed', async ({ jobs, clock }) => {
    const dueAtMs = clock.nowMs() + 10;
    await jobs.enqueueAll(QUEUE, [inOrder('x1', 'x', { dueAtMs }), inOrder('x2'), newJob('free')]);
    assert.deepEqual(await workOff(jobs), ['free']);
    clock.set(dueAtMs);
    assert.deepEqual(await workOff(jobs), ['x1', 'x2']);
  }),
  jobsCase('[JOB-13] the next job of an order also waits for its own due time', async ({ jobs, clock }) => {
    const dueAtMs = clock.nowMs() + 10;
    await jobs.enqueueAll(QUEUE, [inOrder('x1'), inOrder('x2', 'x', { dueAtMs }), inOrder('x3')]);
    assert.deepEqual(await workOff(jobs), ['x1']);
    clock.set(dueAtMs);
    assert.deepEqual(await workOff(jobs), ['x2', 'x3']);
  }),
  jobsCase('[JOB-13] orders with similar names are different orders', async ({ jobs }) => {
    const orders = ['', '\u0000', '\u0000\u0000', 'a', 'A', 'a\u0000', 'a\u0000b', 'é', 'e\u0301', 'x'.repeat(2_048)];
    await jobs.enqueueAll(
      QUEUE,
      orders.flatMap((order) => [inOrder(`1 ${order}`, order), inOrder(`2 ${order}`, order)]),
    );
    assert.deepEqual(
      await payloadsDue(jobs),
      orders.map((order) => `1 ${order}`),
    );
  }),
  jobsCase('[JOB-13] concurrent workers keep every order', async ({ jobs }) => {
    const all = Array.from({ length: 120 }, (_, number) => inOrder(`${number}`, `order ${number % 3}`));
    await jobs.enqueueAll(QUEUE, all);
    const done: number[] = [];
    const work = async () => {
      for (let job = await jobs.lease(QUEUE, LEASE_MS); job !== null; job = await jobs.lease(QUEUE, LEASE_MS)) {
        done.push(Number(job.payload));
        await jobs.acknowledge(job);
      }
    };
    while (done.length < 120) await Promise.all([work(), work(), work(), work(), work()]);
    for (const rest of [0, 1, 2]) {
      const mine = done.filter((number) => number % 3 === rest);
      assert.deepEqual(
        mine,
        [...mine].sort((left, right) => left - right),
      );
    }
  }),
  jobsCase('[JOB-14] a revived job comes before the waiting jobs of its order', async ({ jobs }) => {
    const [first = ''] = await jobs.enqueueAll(QUEUE, [inOrder('x1'), inOrder('x2'), inOrder('x3')]);
    await jobs.bury(await leased(jobs), 'broken');
    assert.equal(await jobs.revive(QUEUE, first), true);
    assert.deepEqual(await idsIn(jobs, 'due'), [first]);
    assert.deepEqual(await workOff(jobs), ['x1', 'x2', 'x3']);
  }),
  jobsCase(
    '[JOB-14] a revived job waits for the leased job of its order, and then comes first',
    async ({ jobs, clock }) => {
      for (const ending of ['acknowledge', 'giveBack', 'expiry'] as const) {
        const [first = ''] = await jobs.enqueueAll(QUEUE, [inOrder('x1'), inOrder('x2'), inOrder('x3')]);
        await jobs.bury(await leased(jobs), 'broken');
        const running = await leased(jobs);
        assert.equal(await jobs.revive(QUEUE, first), true);
        assert.deepEqual([running.payload, await payloadsDue(jobs)], ['x2', []]);
        if (ending === 'expiry') clock.advance(LEASE_MS);
        else await jobs[ending](running);
        assert.deepEqual(await workOff(jobs), ending === 'acknowledge' ? ['x1', 'x3'] : ['x1', 'x2', 'x3']);
      }
    },
  ),
  jobsCase('[JOB-15] a job can be removed unless it is leased; the next of its order follows', async ({ jobs }) => {
    const ids = await jobs.enqueueAll(QUEUE, [inOrder('x1'), inOrder('x2'), inOrder('x3'), inOrder('x4')]);
    const [x1 = '', x2 = '', x3 = ''] = ids;
    assert.equal(await jobs.remove(QUEUE, x2), true);
    assert.equal(await jobs.remove(QUEUE, x2), false);
    assert.equal(await jobs.remove(QUEUE, x1), true);
    const job = await leased(jobs);
    assert.equal(job.payload, 'x3');
    assert.equal(await jobs.remove(QUEUE, x3), false);
    assert.equal(await jobs.bury(job, 'broken'), true);
    assert.equal(await jobs.remove('other', x3), false);
    assert.equal(await jobs.remove(QUEUE, x3), true);
    assert.equal(await jobs.find(QUEUE, x3), null);
    assert.deepEqual(await workOff(jobs), ['x4']);
  }),
];
