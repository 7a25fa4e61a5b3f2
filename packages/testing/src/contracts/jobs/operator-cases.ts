import assert from 'node:assert/strict';
import type { Jobs, LeasedJob } from '@tidemark/core';
import { JOB_REASON_UNITS_MAX, Refusal } from '@tidemark/protocol';
import type { SettableClock } from '../../kit/settable-clock.ts';
import { JOBS_BOUNDS, type JobsCase, jobsCase } from './jobs-case.ts';
import { idsIn, LEASE_MS, leased, newJob, payloadsDue, QUEUE, workOff } from './new-job.ts';

/** Cases about operators. */
export const operatorCases: readonly JobsCase[] = [
  jobsCase(
    '[JOB-16] no job is leased from a paused queue, and other queues are not affected',
    async ({ jobs, clock }) => {
      await jobs.enqueueAll(QUEUE, [newJob('a'), newJob('b')]);
      await jobs.enqueue('other', newJob('c'));
      const job = await leased(jobs);
      await jobs.pause(QUEUE);
      await jobs.pause(QUEUE);
      assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
      assert.deepEqual(await payloadsDue(jobs, 'other'), ['c']);
      await jobs.enqueue(QUEUE, newJob('d'));
      assert.equal(await jobs.renew(job, LEASE_MS), true);
      assert.equal(await jobs.retry(job, clock.nowMs() + 1, 'again'), 'retrying');
      clock.advance(1);
      assert.equal(await jobs.lease(QUEUE, LEASE_MS), null);
      assert.equal((await jobs.describe(QUEUE)).isPaused, true);
      await jobs.resume(QUEUE);
      assert.equal((await jobs.describe(QUEUE)).isPaused, false);
      assert.deepEqual(await workOff(jobs), ['b', 'd', 'a']);
    },
  ),
  jobsCase('[JOB-17] jobs are listed by state', async ({ jobs, clock }) => {
    const { ids, lists } = await populate(jobs, clock);
    for (const [state, expected] of Object.entries(lists)) {
      const page = await jobs.inspect(QUEUE, state as keyof typeof lists, { limit: 100 });
      assert.deepEqual(
        page.jobs.map(({ id }) => ids.get(id)),
        expected,
        state,
      );
      assert.ok(page.jobs.every((job) => job.state === state));
      assert.equal(page.next, null);
      for (const job of page.jobs) assert.deepEqual(await jobs.find(QUEUE, job.id), job);
    }
  }),
  jobsCase(
    '[JOB-17] pages of jobs continue where the last one ended, even if jobs are removed in between',
    async ({ jobs, clock }) => {
      const now = clock.nowMs();
      const dues = Array.from({ length: 7 }, (_, number) => now - Math.floor(number / 2));
      const all = dues.map((dueAtMs, number) => newJob(`${number}`, { dueAtMs }));
      const waiting = Array.from({ length: 7 }, (_, number) => newJob(`w${number}`, { order: `${number % 2}` }));
      await jobs.enqueueAll(QUEUE, [...all, ...waiting]);
      for (const state of ['due', 'waiting'] as const) {
        const whole = await idsIn(jobs, state);
        for (const limit of [1, 2, 3, whole.length, whole.length + 1]) {
          const found: string[] = [];
          let after: string | undefined;
          do {
            const page = await jobs.inspect(QUEUE, state, { limit, ...(after === undefined ? {} : { after }) });
            assert.ok(page.jobs.length <= limit);
            found.push(...page.jobs.map(({ id }) => id));
            after = page.next ?? undefined;
          } while (after !== undefined);
          assert.deepEqual(found, whole);
        }
      }
      const [first = '', ...rest] = await idsIn(jobs, 'due');
      const { next } = await jobs.inspect(QUEUE, 'due', { limit: 1 });
      await jobs.remove(QUEUE, first);
      const page = await jobs.inspect(QUEUE, 'due', { limit: 100, after: next ?? '' });
      assert.deepEqual(
        page.jobs.map(({ id }) => id),
        rest,
      );
    },
  ),
  jobsCase('[JOB-17] a listing of jobs with an invalid cursor or limit throws', async ({ jobs }) => {
    await jobs.enqueue(QUEUE, newJob('a'));
    await assert.rejects(
      jobs.inspect(QUEUE, 'due', { after: '!', limit: 1 }),
      (error) => error instanceof Refusal && error.code === 'invalid_value',
    );
    for (const limit of [0, 1.5, -1, 10_001]) {
      await assert.rejects(jobs.inspect(QUEUE, 'due', { limit }), RangeError);
    }
  }),
  jobsCase(
    '[JOB-18] a queue reports how many jobs it has in each state, and how late it is',
    async ({ jobs, clock }) => {
      const nothing = { due: 0, delayed: 0, waiting: 0, leased: 0, dead: 0 };
      assert.deepEqual(await jobs.describe(QUEUE), { queue: QUEUE, isPaused: false, counts: nothing, lagMs: 0 });
      const { lists } = await populate(jobs, clock);
      const counts = Object.fromEntries(Object.entries(lists).map(([state, list]) => [state, list.length]));
      assert.deepEqual(await jobs.describe(QUEUE), { queue: QUEUE, isPaused: false, counts, lagMs: 20 });
      clock.advance(5);
      assert.equal((await jobs.describe(QUEUE)).lagMs, 25);
    },
  ),
  jobsCase('[JOB-18] a job with an ended lease is not counted as leased', async (fixture) => {
    const { jobs, clock } = fixture;
    const last = { attemptsMax: 1, order: 'x' };
    await jobs.enqueueAll(QUEUE, [newJob('a'), newJob('b', last), newJob('c', { order: 'x' })]);
    await leased(jobs);
    await leased(jobs);
    clock.advance(LEASE_MS + 3);
    const { counts, lagMs } = await jobs.describe(QUEUE);
    assert.deepEqual(counts, { due: 2, delayed: 0, waiting: 0, leased: 0, dead: 1 });
    assert.equal(lagMs, LEASE_MS + 3);
  }),
  jobsCase('[JOB-19] queues are listed while they have jobs or are paused', async ({ jobs }) => {
    assert.deepEqual(await jobs.queues(), []);
    const names = ['a', 'a b', 'a:b', 'A', 'é', '\u{1f4a7}', '\uffee', 'x'.repeat(255)];
    for (const name of names) await jobs.enqueue(name, newJob(`of ${name}`));
    await jobs.pause('empty');
    const all = [...names, 'empty'].sort((left, right) => Buffer.compare(Buffer.from(left), Buffer.from(right)));
    assert.deepEqual(await jobs.queues(), all);
    for (const name of names) assert.deepEqual(await workOff(jobs, name), [`of ${name}`]);
    assert.deepEqual(await jobs.queues(), ['empty']);
    await jobs.resume('empty');
    assert.deepEqual(await jobs.queues(), []);
  }),
  jobsCase('[JOB-20] a full queue refuses the whole call until there is room', async ({ jobs }) => {
    const { jobsPerQueueMax: max } = JOBS_BOUNDS;
    const many = (count: number) => Array.from({ length: count }, (_, number) => newJob(`${number}`));
    await jobs.enqueueAll(QUEUE, many(max - 1));
    const isFull = (error: unknown) => error instanceof Refusal && error.code === 'queue_full' && error.status === 503;
    await assert.rejects(jobs.enqueueAll(QUEUE, many(2)), isFull);
    assert.equal((await jobs.describe(QUEUE)).counts.due, max - 1);
    await jobs.enqueue(QUEUE, newJob('last'));
    await assert.rejects(jobs.enqueue(QUEUE, newJob('one more')), isFull);
    await jobs.enqueue('other', newJob('elsewhere'));
    await jobs.bury(await leased(jobs), 'dead ones take no room');
    await jobs.enqueue(QUEUE, newJob('room'));
  }),
  jobsCase('[JOB-20] of too many dead jobs the oldest one is deleted', async ({ jobs, clock }) => {
    const { deadPerQueueMax: max } = JOBS_BOUNDS;
    const all = Array.from({ length: max + 3 }, (_, number) => newJob(`${number}`));
    const ids = await jobs.enqueueAll(QUEUE, all);
    for (const _ of ids) {
      clock.advance(1);
      await jobs.bury(await leased(jobs), 'broken');
    }
    assert.deepEqual(await idsIn(jobs, 'dead'), ids.slice(3));
    assert.equal((await jobs.describe(QUEUE)).counts.dead, max);
  }),
  jobsCase('[JOB-20] a long reason is truncated', async ({ jobs, clock }) => {
    const id = await jobs.enqueue(QUEUE, newJob('a'));
    const atMs = clock.nowMs();
    const long = (letter: string, end: string) => `${letter.repeat(JOB_REASON_UNITS_MAX - 1)}${end}`;
    const ends: readonly ((job: LeasedJob, reason: string) => Promise<unknown>)[] = [
      (job, reason) => jobs.retry(job, atMs, reason),
      (job, reason) => jobs.giveBack(job, { atMs, reason }),
      (job, reason) => jobs.bury(job, reason),
    ];
    for (const [index, end] of ends.entries()) {
      await end(await leased(jobs), long(`${index}`, '💧'));
      const { lastReason } = (await jobs.find(QUEUE, id)) ?? assert.fail();
      assert.equal(lastReason, long(`${index}`, '\ufffd'));
    }
  }),
  jobsCase('[JOB-21] watchers of a queue are notified when a job may have become due', async ({ jobs, clock }) => {
    let heard = 0;
    const end = jobs.watch(QUEUE, () => {
      heard++;
    });
    const hears = async (call: () => Promise<unknown>) => {
      const before = heard;
      await call();
      assert.ok(heard > before, 'nothing was heard');
    };
    await hears(() =>
      jobs.enqueueAll(QUEUE, [newJob('a', { order: 'x', attemptsMax: 1 }), newJob('b', { order: 'x' })]),
    );
    const a = await leased(jobs);
    await hears(() => jobs.retry(a, clock.nowMs(), 'broken'));
    await hears(() => jobs.revive(QUEUE, a.id));
    await hears(async () => jobs.giveBack(await leased(jobs)));
    await hears(async () => jobs.acknowledge(await leased(jobs)));
    await hears(() => jobs.resume(QUEUE));
    const before = heard;
    await jobs.enqueue('other', newJob('c'));
    end();
    await jobs.enqueue(QUEUE, newJob('d'));
    assert.equal(heard, before);
  }),
];

/** Creates jobs in every state. Returns the payloads per state, and the ids by payload. */
async function populate(jobs: Jobs, clock: SettableClock) {
  const now = clock.nowMs();
  const payloads = new Map<string, string>();
  const add = async (payload: string, more = {}) => {
    payloads.set(await jobs.enqueue(QUEUE, newJob(payload, more)), payload);
  };
  for (const payload of ['dead 1', 'dead 2']) {
    await add(payload, { dueAtMs: now - 90 });
    await jobs.bury(await leased(jobs), 'broken');
    clock.advance(1);
  }
  for (const [payload, leaseMs] of [
    ['leased 2', 700],
    ['leased 1', 600],
  ] as const) {
    await add(payload, { dueAtMs: now - 80, order: payload });
    await jobs.lease(QUEUE, leaseMs);
  }
  await add('waiting 1', { order: 'leased 1' });
  await add('waiting 2', { order: 'leased 1' });
  await add('delayed 2', { dueAtMs: now + 200 });
  await add('delayed 1', { dueAtMs: now + 100 });
  await add('due 2', { dueAtMs: now + 2 - 10 });
  await add('due 1', { dueAtMs: now + 2 - 20 });
  await add('due 3', { dueAtMs: now + 2 - 10 });
  const lists = {
    due: ['due 1', 'due 2', 'due 3'],
    delayed: ['delayed 1', 'delayed 2'],
    waiting: ['waiting 1', 'waiting 2'],
    leased: ['leased 1', 'leased 2'],
    dead: ['dead 1', 'dead 2'],
  };
  return { ids: payloads, lists };
}
