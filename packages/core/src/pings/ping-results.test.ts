import { DEFAULT_LIMITS, type Limits } from '@tidemark/protocol';
import { newTidemark, openMemoryJobs, refusalOf, seededRandom, type TestTidemark } from '@tidemark/testing';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Jobs } from '../ports/jobs.ts';
import type { PingOutcome, PingTarget } from '../ports/notifier.ts';
import { deliverPing } from './deliver-ping.ts';
import { PingResults } from './ping-results.ts';
import { Pings, pingQueue } from './pings.ts';
import { RecentPings } from './recent-pings.ts';

const BY = 'this process';
const QUEUE = pingQueue('fcm');
const ACCEPTED: PingOutcome = { status: 'accepted' };
const FAILED = { status: 'failed', reason: 'busy', retryAfterMs: null, isFinal: false } as const;

let bench: TestTidemark;
let jobs: Jobs;
let results: PingResults;
let pings: Pings;
let recent: RecentPings;

beforeEach(async () => {
  bench = await newTidemark();
  results = new PingResults(bench);
  recent = new RecentPings(BY);
  pingsWith({});
});

function pingsWith(options: { spreadPerS?: number; jobsPerQueueMax?: number; limits?: Limits; by?: string }): void {
  jobs = openMemoryJobs({ clock: bench.clock, jobsPerQueueMax: options.jobsPerQueueMax ?? 100_000 });
  const ports = { ...bench, jobs, random: seededRandom(3), limits: DEFAULT_LIMITS, results, by: BY };
  pings = new Pings({ ...ports, ...options });
}

async function register(count: number, attributes: object = { device_type: 'android' }, user = 'ada', prefix = 'd') {
  for (let index = 0; index < count; index++) {
    const device = { client_id: `${prefix}${index}`, device_pin: `pin-${prefix}${index}`, ...attributes };
    await bench.tidemark.clients.register(user, device);
  }
}

const send = (call: object = {}) => pings.send({ user_id: 'ada', sources: 'Order', ...call }, 'admin');

interface Run {
  readonly answer?: (target: PingTarget, attempt: number) => PingOutcome;
  /** The process dies after the request has left, and again before its result is kept. */
  readonly dies?: (client: string) => boolean;
}

/** Runs what is due, as a runner would: what failed is tried again at once. */
async function run({ answer = () => ACCEPTED, dies = () => false }: Run = {}) {
  const left: string[] = [];
  for (let job = await jobs.lease(QUEUE, 1_000); job !== null; job = await jobs.lease(QUEUE, 1_000)) {
    const { attempt } = job;
    const notifier = {
      notify: async (target: PingTarget) => {
        left.push(target.client);
        return answer(target, attempt);
      },
    };
    const kept = dies(JSON.parse(job.payload).client) ? new Proxy(results, { get: deadOn }) : results;
    try {
      await deliverPing({ ...bench, notifier, results: kept, recent })(job, () => new AbortController().signal);
      await jobs.acknowledge(job);
    } catch (error) {
      await jobs.retry(job, bench.clock.nowMs(), String(error));
    }
  }
  return left;
}

function deadOn(target: PingResults, name: string | symbol): unknown {
  if (name === 'record') return () => Promise.reject(new Error('the process died'));
  const member = Reflect.get(target, name) as unknown;
  return typeof member === 'function' ? member.bind(target) : member;
}

describe('results', () => {
  it('[PING-31] a ping is listed with its counts, and with a result for each device', async () => {
    await register(4);
    const { ping_id: id } = await send({ message: 'hi' });
    const ping = { ping_id: id, actor: 'admin', cause: 'call', sources: ['Order'], has_message: true, users: 1 };
    const none = { accepted: 0, sent: 0, retired: 0, failed: 0, gone: 0, collapsed: 0, repeated: 0 };
    expect(await results.list()).toEqual([
      { ...ping, at: expect.any(String), devices: 4, skipped: 0, pending: 4, ...none },
    ]);
    await bench.tidemark.clients.delete('ada', 'd3');
    await run({
      answer: ({ client }) => {
        if (client === 'd0') return { status: 'accepted', note: 'the message was shortened' };
        return client === 'd1' ? { status: 'retired', reason: 'gone' } : { ...FAILED, isFinal: true };
      },
    });
    const page = await results.get(id);
    expect(page).toMatchObject({ pending: 0, accepted: 1, retired: 1, failed: 1, gone: 1 });
    const about = { service: 'fcm', at: expect.any(String), repeated: false, answer_lost: false, caught_up_by: null };
    expect(page.results).toEqual([
      { client_id: 'd0', status: 'accepted', reason: 'the message was shortened', attempts: 1, ...about },
      { client_id: 'd1', status: 'retired', reason: 'gone', attempts: 1, ...about },
      { client_id: 'd2', status: 'failed', reason: 'busy', attempts: 1, ...about },
      { ...about, client_id: 'd3', status: 'gone', reason: expect.any(String), attempts: 1, service: null },
    ]);
  });

  it('[PING-31] a temporary failure is retried, and the result of the last attempt is final', async () => {
    await register(2);
    const { ping_id: id } = await send();
    const left = await run({ answer: ({ client }, attempt) => (client === 'd0' && attempt === 3 ? ACCEPTED : FAILED) });
    expect(left.filter((client) => client === 'd0')).toHaveLength(3);
    expect(left.filter((client) => client === 'd1')).toHaveLength(8);
    expect(await results.get(id)).toMatchObject({
      pending: 0,
      accepted: 1,
      failed: 1,
      repeated: 0,
      results: [
        { client_id: 'd0', status: 'accepted', attempts: 3, repeated: false },
        { client_id: 'd1', status: 'failed', attempts: 8, reason: 'busy' },
      ],
    });
  });

  it('[PING-32] a ping whose answer was lost is sent again, and its result says that it may be a duplicate', async () => {
    await register(2);
    const { ping_id: id } = await send();
    await run({
      answer: ({ client }, attempt) => (client === 'd0' && attempt > 1 ? ACCEPTED : { ...FAILED, isAnswerLost: true }),
    });
    expect(await results.get(id)).toMatchObject({
      repeated: 2,
      results: [
        { client_id: 'd0', status: 'accepted', repeated: true, answer_lost: false },
        { client_id: 'd1', status: 'failed', repeated: true, answer_lost: true },
      ],
    });
  });

  it('[PING-32] after a crash before the result is stored, the next attempt is marked as a possible duplicate', async () => {
    await register(2);
    const { ping_id: id } = await send();
    let deaths = 0;
    const left = await run({ dies: (client) => client === 'd0' && deaths++ === 0 });
    expect([...left].sort()).toEqual(['d0', 'd0', 'd1']);
    expect(await results.get(id)).toMatchObject({
      accepted: 2,
      repeated: 1,
      results: [
        { client_id: 'd0', attempts: 2, repeated: true },
        { client_id: 'd1', attempts: 1, repeated: false },
      ],
    });
  });

  it('[PING-32] a job that runs again after its result was stored sends nothing and changes no count', async () => {
    await register(1);
    const { ping_id: id } = await send();
    const job = await jobs.lease(QUEUE, 1_000);
    if (job === null) throw new Error('there is no job');
    const left: string[] = [];
    const notifier = {
      notify: async ({ client }: PingTarget) => {
        left.push(client);
        return ACCEPTED;
      },
    };
    const deliver = deliverPing({ ...bench, notifier, results, recent });
    await deliver(job, () => new AbortController().signal);
    await deliver({ ...job, attempt: 2 }, () => new AbortController().signal);
    expect(left).toEqual(['d0']);
    expect(await results.get(id)).toMatchObject({ accepted: 1, repeated: 0 });
  });

  it('[PING-31] when a dead job is revived and succeeds, the counts are updated', async () => {
    await register(1);
    const { ping_id: id } = await send();
    const job = await jobs.lease(QUEUE, 1_000);
    if (job === null) throw new Error('there is no job');
    const deliver = (outcome: PingOutcome) =>
      deliverPing({ ...bench, notifier: { notify: async () => outcome }, results, recent })(
        job,
        () => new AbortController().signal,
      );
    await deliver({ ...FAILED, isFinal: true }).catch(() => undefined);
    expect(await results.get(id)).toMatchObject({ failed: 1, pending: 0 });
    await deliver(ACCEPTED);
    expect(await results.get(id)).toMatchObject({ failed: 0, accepted: 1, pending: 0 });
    await deliver({ ...FAILED, isFinal: true }).catch(() => undefined);
    expect(await results.get(id)).toMatchObject({ failed: 0, accepted: 1 });
  });

  it('[PING-31] concurrent results are written in one batch, and the counts of several servers add up', async () => {
    const ids = Array.from({ length: 300 }, (_, index) => `c${index}`);
    const record = { atMs: 1, actor: null, cause: 'call', sources: [], hasMessage: false, users: 1 } as const;
    const counts = { accepted: 0, sent: 0, retired: 0, failed: 0, gone: 0, collapsed: 0 };
    await results.open('p', { ...record, devices: 300, skipped: 0, counts, repeated: 0 });
    const other = new PingResults(bench);
    const result = { status: 'accepted', service: 'apns', reason: null, attempts: 1, atMs: 1 } as const;
    const whole = { ...result, isRepeated: false, isAnswerLost: false };
    await Promise.all(
      ids.map((client, index) => (index % 2 === 0 ? results : other).record({ ping: 'p', client, result: whole })),
    );
    const view = await other.get('p', { limit: 1_000 });
    expect([view.accepted, view.pending, view.results.length]).toEqual([300, 0, 300]);
  });

  it('[PING-31] pings are listed newest first and results by client, both in pages', async () => {
    await register(3);
    const sent: string[] = [];
    for (let count = 0; count < 3; count++) {
      bench.clock.advance(1);
      sent.unshift((await send({ message: String(count) })).ping_id);
    }
    await run();
    const [first = '', second = '', third = ''] = sent;
    expect((await results.list({ limit: 2 })).map(({ ping_id }) => ping_id)).toEqual([first, second]);
    expect((await results.list({ after: second })).map(({ ping_id }) => ping_id)).toEqual([third]);
    const page = await results.get(first, { limit: 2 });
    expect(page.results.map(({ client_id }) => client_id)).toEqual(['d0', 'd1']);
    expect((await results.get(first, { after: 'd1' })).results.map(({ client_id }) => client_id)).toEqual(['d2']);
    for (const limit of [0, 10_001, 1.5]) {
      expect(await refusalOf(results.list({ limit }))).toBe('invalid_value');
      expect(await refusalOf(results.get(first, { limit }))).toBe('invalid_value');
    }
    expect(await refusalOf(results.get('nothing'))).toBe('ping_not_found');
  });

  it('[PING-33] pings older than the retention are deleted with their results, and later results are dropped', async () => {
    await register(2);
    const { ping_id: old } = await send({ message: 'old' });
    await run();
    const { ping_id: late } = await send({ message: 'late' });
    bench.clock.advance(7 * 24 * 3_600_000);
    const { ping_id: young } = await send({ message: 'young' });
    bench.clock.advance(1);
    expect(await results.trim(bench.clock.nowMs())).toBe(2);
    expect((await results.list()).map(({ ping_id }) => ping_id)).toEqual([young]);
    for (const id of [old, late]) expect(await refusalOf(results.get(id))).toBe('ping_not_found');
    await run();
    expect(await bench.store.countEntries('ping_result')).toBe(2);
    expect(await results.trim(bench.clock.nowMs())).toBe(0);
  });

  it('[PING-33] when there are too many results, the oldest pings are deleted', async () => {
    await register(3);
    results = new PingResults({ ...bench, resultsMax: 6 });
    pingsWith({});
    const sent: string[] = [];
    for (let count = 0; count < 3; count++) {
      bench.clock.advance(1);
      sent.unshift((await send({ message: String(count) })).ping_id);
    }
    await run();
    expect(await results.trim(bench.clock.nowMs())).toBe(1);
    expect((await results.list()).map(({ ping_id }) => ping_id)).toEqual(sent.slice(0, 2));
    expect(await bench.store.countEntries('ping_result')).toBe(6);
  });
});

describe('queues', () => {
  it('[PING-34] each push service has its own queue', async () => {
    await register(1, { device_type: 'android' }, 'ada', 'a');
    await register(1, { device_type: 'ios', device_pin: 'ab'.repeat(32) }, 'ada', 'i');
    await register(
      1,
      { device_type: 'ios', device_push_type: 'apns_sandbox', device_pin: 'cd'.repeat(32) },
      'ada',
      's',
    );
    await register(1, { device_type: 'webhook' }, 'ada', 'w');
    await register(2, { device_type: 'live', device_pin: null }, 'ada', 'l');
    expect(await send()).toMatchObject({ devices: 6, skipped: [] });
    const due = await Promise.all(
      (await jobs.queues()).map(async (queue) => [queue, (await jobs.describe(queue)).counts.due]),
    );
    expect(due).toEqual([
      ['pings-apns', 2],
      ['pings-fcm', 1],
      ['pings-live', 2],
      ['pings-webhook', 1],
    ]);
  });

  it('[PING-9] devices whose queue is full are listed, and devices of other services get the ping', async () => {
    await register(3, { device_type: 'android' }, 'ada', 'a');
    await register(2, { device_type: 'webhook' }, 'ada', 'w');
    pingsWith({ jobsPerQueueMax: 2 });
    const report = await send();
    expect(report).toMatchObject({ devices: 2 });
    expect(report.skipped.map(({ client_id, reason }) => `${client_id} ${reason}`).sort()).toEqual([
      'a0 queue_full',
      'a1 queue_full',
      'a2 queue_full',
    ]);
    expect(await results.get(report.ping_id)).toMatchObject({ devices: 2, pending: 2, skipped: 3 });
    await bench.tidemark.clients.delete('ada', 'w0');
    await bench.tidemark.clients.delete('ada', 'w1');
    expect(await refusalOf(send())).toBe('queue_full');
    expect(await results.list()).toHaveLength(1);
  });

  it('[PING-35] a ping to many devices is spread over several seconds, and one to few is not', async () => {
    await register(40);
    pingsWith({ spreadPerS: 10 });
    await send();
    const count = async (state: 'due' | 'delayed') => (await jobs.describe(QUEUE)).counts[state];
    expect(await count('delayed')).toBeGreaterThan(20);
    const counts: number[] = [];
    for (let second = 0; second < 4; second++) {
      bench.clock.advance(1_000);
      counts.push((await run()).length);
    }
    expect(counts.reduce((sum, one) => sum + one)).toBe(40);
    for (const one of counts) expect(one).toBeGreaterThan(2);
    pingsWith({ spreadPerS: 40 });
    await send();
    expect([await count('due'), await count('delayed')]).toEqual([40, 0]);
  });
});

describe('duplicate pings', () => {
  it('[PING-36] a ping that only names sources is not sent when an equal ping was sent after it was enqueued', async () => {
    await register(1);
    const first = await send();
    bench.clock.advance(5);
    const second = await send();
    const other = await send({ sources: 'Product' });
    bench.clock.advance(5);
    expect(await run()).toHaveLength(2);
    expect(await results.get(first.ping_id)).toMatchObject({ accepted: 1 });
    expect(await results.get(second.ping_id)).toMatchObject({ collapsed: 1, pending: 0 });
    expect(await results.get(other.ping_id)).toMatchObject({ accepted: 1 });
    bench.clock.advance(5);
    const third = await send();
    bench.clock.advance(5);
    await run();
    expect(await results.get(third.ping_id)).toMatchObject({ accepted: 1 });
  });

  it('[PING-36] pings with messages, pings after a failed one and pings of another process are all sent', async () => {
    await register(1);
    for (let count = 0; count < 2; count++) await send({ message: 'hi' });
    bench.clock.advance(1);
    expect(await run()).toHaveLength(2);
    pingsWith({ by: 'another process' });
    for (let count = 0; count < 2; count++) await send();
    bench.clock.advance(1);
    expect(await run()).toHaveLength(2);
    pingsWith({});
    for (let count = 0; count < 2; count++) await send();
    bench.clock.advance(1);
    expect(await run({ answer: () => ({ ...FAILED, isFinal: true }) })).toHaveLength(2);
  });

  it('[PING-36] recent pings are remembered for a bounded number of devices', () => {
    const small = new RecentPings(BY, 2);
    const payload = (client: string) => ({
      id: client,
      ping: 'p',
      client,
      user: 'ada',
      createdAtMs: 1,
      atMs: 1,
      by: BY,
      content: { sources: [] },
    });
    for (const client of ['a', 'b', 'c']) small.note(payload(client), 2);
    expect(['a', 'b', 'c'].map((client) => small.isCovered(payload(client)))).toEqual([false, true, true]);
  });
});
