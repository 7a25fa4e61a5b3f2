import { JobFailure, type JobHandler, type Jobs, type LeasedJob, type NewJob, type PingOutcome } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { collectingLog, openMemoryJobs, PING_TARGET, type SettableClock, settableClock } from '@tidemark/testing';
import { describe, expect, it, onTestFinished } from 'vitest';
import { failed } from '../pings/notifiers/notifier.ts';
import { ServiceGate } from '../pings/notifiers/service-gate.ts';
import { JobRunner, type QueueOptions } from './job-runner.ts';
import type { Timers } from './timers.ts';

interface Timer {
  readonly atMs: number;
  readonly callback: () => void;
}

/** Timers that fire when the clock is moved. */
class ManualTimers implements Timers {
  readonly #clock: SettableClock;
  readonly #waiting = new Set<Timer>();

  constructor(clock: SettableClock) {
    this.#clock = clock;
  }

  get waiting(): number {
    return this.#waiting.size;
  }

  after(delayMs: number, callback: () => void): () => void {
    const timer = { atMs: this.#clock.nowMs() + delayMs, callback };
    this.#waiting.add(timer);
    return () => this.#waiting.delete(timer);
  }

  /** Moves the clock from timer to timer, and lets all effects settle before the next. */
  async pass(ms: number): Promise<void> {
    const endMs = this.#clock.nowMs() + ms;
    for (;;) {
      await atRest();
      const [next] = [...this.#waiting].sort((left, right) => left.atMs - right.atMs);
      if (next === undefined || next.atMs > endMs) break;
      this.#waiting.delete(next);
      this.#clock.set(Math.max(next.atMs, this.#clock.nowMs()));
      next.callback();
    }
    this.#clock.set(endMs);
    await atRest();
  }
}

/** The engines in memory answer in microtasks, so one turn of the event loop lets everything settle. */
async function atRest(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** A handler whose jobs end when the test says so. */
class Gate {
  readonly started: LeasedJob[] = [];
  readonly signals: AbortSignal[] = [];
  readonly #open: (() => void)[] = [];

  readonly handle: JobHandler = (job, signal) => {
    this.started.push(job);
    this.signals.push(signal());
    return new Promise((resolve) => this.#open.push(resolve));
  };

  async open(): Promise<void> {
    for (const resolve of this.#open.splice(0)) resolve();
    await atRest();
  }
}

async function stopAtOnce(runner: JobRunner, timers: ManualTimers): Promise<void> {
  const stopping = runner.stop(0);
  await timers.pass(0);
  await stopping;
}

interface SetUpOptions {
  readonly clock: SettableClock;
  readonly jobs: Jobs;
  readonly timers: ManualTimers;
  readonly log: ReturnType<typeof collectingLog>;
  readonly runner: JobRunner;
  readonly reports: string[];
}

/** The jitter is always one half. */
function setUp(
  handlers: Readonly<Record<string, JobHandler>>,
  options: QueueOptions = {},
  broken: Partial<Jobs> = {},
): SetUpOptions {
  const clock = settableClock();
  const jobs = Object.assign(openMemoryJobs({ clock }), broken);
  const timers = new ManualTimers(clock);
  const log = collectingLog();
  const reports: string[] = [];
  const runner = new JobRunner({
    jobs,
    handlers: new Map(Object.entries(handlers)),
    clock,
    timers,
    jitter: () => 0.5,
    log,
    onReport: ({ queue, kind, outcome, tookMs }) => reports.push(`${queue} ${kind} ${outcome} ${tookMs}`),
  });
  onTestFinished(() => stopAtOnce(runner, timers));
  runner.serve('q', { workers: 2, leaseMs: 900, pollMs: 100, backOff: { baseMs: 1_000, capMs: 8_000 }, ...options });
  return { clock, jobs, timers, log, runner, reports };
}

const job = (payload: string, more: Partial<NewJob> = {}): NewJob => ({ kind: 'k', payload, attemptsMax: 3, ...more });

const fail =
  (failure: Error): JobHandler =>
  async () => {
    throw failure;
  };

describe('the job runner', () => {
  it('[JOB-30] each job is run by the handler of its kind, acknowledged and reported', async () => {
    const seen: string[] = [];
    const note =
      (name: string): JobHandler =>
      async ({ payload, attempt }) => {
        seen.push(`${name} ${payload} ${attempt}`);
      };
    const { jobs, reports, timers } = setUp({ k: note('k'), l: note('l') });
    await jobs.enqueueAll('q', [job('a'), job('b', { kind: 'l' }), job('c')]);
    await timers.pass(0);
    expect(seen).toEqual(['k a 1', 'l b 1', 'k c 1']);
    expect(reports).toEqual(['q k done 0', 'q l done 0', 'q k done 0']);
    expect(await jobs.queues()).toEqual([]);
  });

  it('[JOB-31] a failed job is retried after the back-off until its attempts are used up', async () => {
    const { jobs, reports, timers, clock } = setUp({ k: fail(new Error('no answer')) });
    const id = await jobs.enqueue('q', job('a'));
    await timers.pass(0);
    expect(await jobs.find('q', id)).toMatchObject({
      attempt: 1,
      dueAtMs: clock.nowMs() + 500,
      lastReason: 'no answer',
    });
    await timers.pass(500);
    expect(await jobs.find('q', id)).toMatchObject({ state: 'delayed', attempt: 2, dueAtMs: clock.nowMs() + 1_000 });
    await timers.pass(1_000);
    expect(await jobs.find('q', id)).toMatchObject({ state: 'dead', attempt: 3, lastReason: 'no answer' });
    expect(reports).toEqual(['q k retried 0', 'q k retried 0', 'q k dead 0']);
  });

  it('[JOB-31] a handler may ask for a longer wait, or say that a retry would not help', async () => {
    const { jobs, reports, timers, clock } = setUp({
      later: fail(new JobFailure('busy', { retryAfterMs: 60_000 })),
      never: fail(new JobFailure('unreadable', { isFinal: true })),
      someday: fail(new JobFailure('far', { retryAfterMs: 10 ** 15 })),
    });
    const kinds = ['later', 'never', 'someday', 'unheard'];
    const ids = await jobs.enqueueAll(
      'q',
      kinds.map((kind) => job('a', { kind })),
    );
    await timers.pass(0);
    const views = await Promise.all(ids.map((id) => jobs.find('q', id)));
    const nowMs = clock.nowMs();
    expect(views.map((view) => view && [view.state, view.dueAtMs - nowMs, view.lastReason])).toEqual([
      ['delayed', 60_000, 'busy'],
      ['dead', 0, 'unreadable'],
      ['delayed', 86_400_000, 'far'],
      ['delayed', 500, 'there is no handler for jobs of the kind unheard'],
    ]);
    expect([...reports].sort()).toEqual([
      'q later retried 0',
      'q never dead 0',
      'q someday retried 0',
      'q unheard retried 0',
    ]);
  });

  it('[JOB-31] a job that only waited counts no attempt, so the first failure after it pauses as a first one', async () => {
    let looks = 0;
    const { jobs, timers, clock } = setUp({
      k: async () => {
        if (++looks <= 5) throw new JobFailure('not yet', { retryAfterMs: 1_000, backsOff: false });
        throw new Error('no answer');
      },
    });
    const id = await jobs.enqueue('q', job('a'));
    await timers.pass(0);
    for (let look = 1; look <= 5; look++) {
      expect(await jobs.find('q', id)).toMatchObject({
        attempt: 0,
        dueAtMs: clock.nowMs() + 1_000,
        lastReason: 'not yet',
      });
      await timers.pass(1_000);
    }
    expect(await jobs.find('q', id)).toMatchObject({
      attempt: 1,
      dueAtMs: clock.nowMs() + 500,
      lastReason: 'no answer',
    });
  });

  it('[JOB-31] a failing job does not stop the others, and its payload is not logged', async () => {
    const done: string[] = [];
    const { jobs, timers, log } = setUp({
      k: async ({ payload }) => {
        if (payload === 'secret') throw new Error('bad');
        done.push(payload);
      },
    });
    const ids = await jobs.enqueueAll('q', [job('a'), job('secret', { attemptsMax: 1 }), job('b')]);
    await timers.pass(0);
    expect(done).toEqual(['a', 'b']);
    const fields = { job: ids[1], queue: 'q', kind: 'k', attempt: 1, reason: 'bad' };
    expect(log.lines).toEqual([{ level: 'warn', event: 'job_failed', fields }]);
  });

  it('[JOB-41] a failure that was logged already is not logged again, unless the job is given up', async () => {
    const { jobs, timers, log } = setUp({
      k: async ({ payload }) => {
        throw new JobFailure(payload, { isLogged: true, isFinal: payload === 'final' });
      },
    });
    await jobs.enqueueAll('q', [job('passing'), job('final')]);
    await timers.pass(0);
    expect(log.lines.map(({ event, fields }) => [event, fields.reason])).toEqual([['job_failed', 'final']]);
  });

  it('[JOB-32] no more jobs run at once than there are workers', async () => {
    const gate = new Gate();
    const { jobs, timers } = setUp({ k: gate.handle }, { workers: 3 });
    await jobs.enqueueAll(
      'q',
      Array.from({ length: 10 }, (_, number) => job(`${number}`)),
    );
    const counts: number[] = [];
    for (let round = 0; round < 4; round++) {
      await timers.pass(0);
      counts.push(gate.started.length);
      expect((await jobs.describe('q')).counts.leased).toBe(gate.started.length - 3 * round);
      await gate.open();
    }
    expect(counts).toEqual([3, 6, 9, 10]);
    expect(await jobs.queues()).toEqual([]);
  });

  it('[JOB-32] free workers get jobs in one step, and jobs that end together are acknowledged in one step', async () => {
    const gate = new Gate();
    const { jobs, timers } = setUp({ k: gate.handle }, { workers: 40 });
    const calls: string[] = [];
    const lease = jobs.leaseMany.bind(jobs);
    const acknowledge = jobs.acknowledgeAll.bind(jobs);
    jobs.leaseMany = (queue, leaseMs, jobsMax) => {
      calls.push(`lease ${jobsMax}`);
      return lease(queue, leaseMs, jobsMax);
    };
    jobs.acknowledgeAll = (queue, done) => {
      calls.push(`acknowledge ${done.length}`);
      return acknowledge(queue, done);
    };
    await jobs.enqueueAll(
      'q',
      Array.from({ length: 60 }, (_, number) => job(`${number}`)),
    );
    await timers.pass(0);
    expect([gate.started.length, ...calls]).toEqual([40, 'lease 40']);
    await gate.open();
    await timers.pass(0);
    expect([gate.started.length, ...calls.slice(0, 3)]).toEqual([60, 'lease 40', 'acknowledge 40', 'lease 40']);
    await gate.open();
    expect(await jobs.queues()).toEqual([]);
  });

  it('[JOB-32] a worker is free when its job has ended, but a slow store does not get ever more results to store', async () => {
    let done = 0;
    const { jobs, timers } = setUp({
      k: async () => {
        done++;
      },
    });
    const acknowledge = jobs.acknowledgeAll.bind(jobs);
    const kept: (() => void)[] = [];
    jobs.acknowledgeAll = async (queue, held) => {
      await new Promise<void>((resolve) => kept.push(resolve));
      return acknowledge(queue, held);
    };
    await jobs.enqueueAll(
      'q',
      Array.from({ length: 10 }, (_, number) => job(`${number}`)),
    );
    await timers.pass(0);
    expect(done).toBe(4);
    for (let round = 0; round < 10; round++) {
      for (const keep of kept.splice(0)) keep();
      await timers.pass(0);
    }
    expect([done, await jobs.queues()]).toEqual([10, []]);
  });

  it('[JOB-33] a lease is renewed while its job runs', async () => {
    const gate = new Gate();
    const { jobs, timers, reports } = setUp({ k: gate.handle });
    await jobs.enqueue('q', job('a'));
    await timers.pass(10_000);
    expect(gate.started.length).toBe(1);
    expect((await jobs.describe('q')).counts.leased).toBe(1);
    await gate.open();
    expect(reports).toEqual(['q k done 10000']);
    expect(await jobs.queues()).toEqual([]);
  });

  it('[JOB-33] a short failure of the store costs no lease, and a lost lease interrupts the job', async () => {
    const gate = new Gate();
    const away = new Refusal('store_unavailable', 'away');
    let renewals = 0;
    const { jobs, timers, reports, log } = setUp({ k: gate.handle }, {}, {});
    const renew = jobs.renew.bind(jobs);
    jobs.renew = async (held, leaseMs) => {
      renewals++;
      if (renewals === 1) throw away;
      return renewals < 4 ? renew(held, leaseMs) : false;
    };
    await jobs.enqueue('q', job('a'));
    await timers.pass(1_100);
    expect(gate.signals[0]?.aborted).toBe(false);
    expect(log.lines.map(({ event }) => event)).toEqual(['job_lease_not_renewed']);
    await timers.pass(100);
    expect(gate.signals[0]?.aborted).toBe(true);
    expect(reports).toEqual(['q k lease_lost 1200']);
  });

  it('[JOB-33] a handler that hangs has failed, and its worker continues', async () => {
    const gate = new Gate();
    const { jobs, timers, reports } = setUp({ k: gate.handle }, { workers: 1, jobMsMax: 5_000 });
    const [first = ''] = await jobs.enqueueAll('q', [job('hangs', { attemptsMax: 1 }), job('next')]);
    await timers.pass(5_000);
    expect(await jobs.find('q', first)).toMatchObject({ state: 'dead', lastReason: 'took longer than 5000 ms' });
    expect(gate.started.map(({ payload }) => payload)).toEqual(['hangs', 'next']);
    expect(reports).toEqual(['q k dead 5000']);
    await gate.open();
    expect(reports).toEqual(['q k dead 5000', 'q k done 0']);
  });

  it('[JOB-34] after stop running jobs finish and no more are leased', async () => {
    const gate = new Gate();
    const { jobs, timers, reports, runner } = setUp({ k: gate.handle });
    await jobs.enqueueAll('q', [job('a'), job('b'), job('c')]);
    await timers.pass(0);
    const stopping = runner.stop(1_000);
    await timers.pass(999);
    await gate.open();
    await stopping;
    expect(reports).toEqual(['q k done 999', 'q k done 999']);
    expect((await jobs.describe('q')).counts).toMatchObject({ due: 1, leased: 0 });
    runner.serve('late');
    await jobs.enqueue('late', job('d'));
    await timers.pass(10_000);
    expect(gate.started.length).toBe(2);
    expect(timers.waiting).toBe(0);
  });

  it('[JOB-34] a job that has not finished in time is given back, and the attempt does not count', async () => {
    const gate = new Gate();
    const { jobs, timers, reports, runner } = setUp({ k: gate.handle }, { workers: 1 });
    const id = await jobs.enqueue('q', job('a'));
    await timers.pass(0);
    const stopping = runner.stop(1_000);
    await timers.pass(1_000);
    await stopping;
    expect(gate.signals[0]?.aborted).toBe(true);
    expect(await jobs.find('q', id)).toMatchObject({ state: 'due', attempt: 0 });
    await gate.open();
    expect(reports).toEqual(['q k given_back 1000']);
    expect(timers.waiting).toBe(0);
  });

  it('[JOB-37] an interrupted job counts as an attempt if configured, and is retried after the back-off', async () => {
    const gate = new Gate();
    const { jobs, timers, reports, runner, clock } = setUp({ k: gate.handle }, { workers: 1, countsInterrupted: true });
    const id = await jobs.enqueue('q', job('a'));
    await timers.pass(0);
    const stopping = runner.stop(1_000);
    await timers.pass(1_000);
    await stopping;
    const dueAtMs = clock.nowMs() + 500;
    expect(await jobs.find('q', id)).toMatchObject({ state: 'delayed', attempt: 1, dueAtMs });
    expect(reports).toEqual(['q k retried 1000']);
    await gate.open();
  });

  it('[JOB-36] a gate decides when the next job is leased, and waiting uses up no attempt', async () => {
    const gate = new Gate();
    const asked: number[] = [];
    let waitMs = 30;
    let given = 0;
    let ended = 0;
    const permit = { giveBack: () => given++, end: () => ended++ };
    const queueGate = {
      take: () => {
        asked.push(waitMs);
        return waitMs === 0 ? permit : waitMs;
      },
    };
    const { jobs, timers } = setUp({ k: gate.handle }, { gate: queueGate });
    const id = await jobs.enqueue('q', job('a'));
    await timers.pass(29);
    expect([gate.started.length, await jobs.find('q', id)]).toMatchObject([0, { state: 'due', attempt: 0 }]);
    waitMs = 10_000;
    await timers.pass(1);
    // The gate is asked again at the next poll, however long it said, because its state may change earlier.
    await timers.pass(99);
    waitMs = 0;
    await timers.pass(1);
    expect(gate.started.map(({ payload }) => payload)).toEqual(['a']);
    expect([asked.filter((wait) => wait === 0).length - given, ended]).toEqual([1, 0]);
    await gate.open();
    expect(ended).toBe(1);
  });

  it('[JOB-34] a job leased while stopping is given back without a start', async () => {
    const gate = new Gate();
    const clock = settableClock();
    const jobs = openMemoryJobs({ clock });
    const lease = jobs.leaseMany.bind(jobs);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    jobs.leaseMany = async (queue, leaseMs, jobsMax) => {
      const leased = await lease(queue, leaseMs, jobsMax);
      await released;
      return leased;
    };
    const id = await jobs.enqueue('q', job('a'));
    const timers = new ManualTimers(clock);
    const handlers = new Map([['k', gate.handle]]);
    const runner = new JobRunner({ jobs, handlers, clock, timers, jitter: () => 0, log: collectingLog() });
    runner.serve('q', { workers: 1 });
    const stopping = runner.stop(1_000);
    release();
    await stopping;
    expect(gate.started).toEqual([]);
    expect(await jobs.find('q', id)).toMatchObject({ state: 'due', attempt: 0 });
  });

  it('[JOB-35] a job enqueued by this process runs at once, a delayed one at the poll when it is due', async () => {
    const gate = new Gate();
    const { jobs, timers, clock } = setUp({ k: gate.handle });
    await timers.pass(30);
    await jobs.enqueue('q', job('now'));
    await atRest();
    expect(gate.started.length).toBe(1);
    await jobs.enqueue('q', job('soon', { dueAtMs: clock.nowMs() + 40 }));
    await timers.pass(40);
    expect(gate.started.length).toBe(1);
    await timers.pass(100);
    expect(gate.started.length).toBe(2);
  });

  it('[JOB-35] idle queues that were served at different moments are polled at the same ones', async () => {
    const polls: string[] = [];
    const { jobs, timers, clock, runner } = setUp({});
    await timers.pass(30);
    runner.serve('r', { pollMs: 100 });
    await atRest();
    jobs.leaseMany = async (queue) => {
      polls.push(`${queue} ${clock.nowMs() % 100}`);
      return [];
    };
    await timers.pass(200);
    expect(polls.toSorted()).toEqual(['q 0', 'q 0', 'r 0', 'r 0']);
  });

  it('[JOB-35] an idle queue is polled for one job, and the first job that is found brings the others', async () => {
    const asked: number[] = [];
    const gate = new Gate();
    const { jobs, timers, clock } = setUp({ k: gate.handle }, { workers: 40 });
    await atRest();
    const leaseMany = jobs.leaseMany.bind(jobs);
    jobs.leaseMany = (queue, leaseMs, jobsMax) => {
      asked.push(jobsMax);
      return leaseMany(queue, leaseMs, jobsMax);
    };
    await timers.pass(200);
    expect(asked).toEqual([1, 1]);
    const dueAtMs = clock.nowMs() + 50;
    for (let each = 0; each < 5; each++) await jobs.enqueue('q', job(`job ${each}`, { dueAtMs }));
    await atRest();
    await timers.pass(100);
    expect(asked.slice(-3)).toEqual([1, 39, 35]);
    expect(gate.started).toHaveLength(5);
    await gate.open();
  });

  it('[JOB-35] a job enqueued during a lease is not overlooked', async () => {
    const clock = settableClock();
    const jobs = openMemoryJobs({ clock });
    const lease = jobs.leaseMany.bind(jobs);
    jobs.leaseMany = async (queue, leaseMs, jobsMax) => {
      const leased = await lease(queue, leaseMs, jobsMax);
      await new Promise((resolve) => setImmediate(resolve));
      return leased;
    };
    const gate = new Gate();
    const timers = new ManualTimers(clock);
    const handlers = new Map([['k', gate.handle]]);
    const runner = new JobRunner({ jobs, handlers, clock, timers, jitter: () => 0, log: collectingLog() });
    onTestFinished(() => stopAtOnce(runner, timers));
    runner.serve('q', { workers: 1 });
    await jobs.enqueue('q', job('a'));
    await timers.pass(0);
    expect(gate.started.length).toBe(1);
  });

  it('[JOB-35] a store that does not answer is asked again at the next poll', async () => {
    const gate = new Gate();
    const { jobs, timers, log } = setUp({ k: gate.handle }, { workers: 1 });
    const lease = jobs.leaseMany.bind(jobs);
    jobs.leaseMany = async () => {
      throw new Refusal('store_unavailable', 'away');
    };
    await jobs.enqueue('q', job('a'));
    await timers.pass(250);
    expect(new Set(log.lines.map(({ event }) => event))).toEqual(new Set(['jobs_not_leased']));
    expect(log.lines.length).toBeLessThan(6);
    jobs.leaseMany = lease;
    await timers.pass(100);
    expect(gate.started.length).toBe(1);
  });

  it('[JOB-35] a result the store does not accept is reported, and the job runs again', async () => {
    let runs = 0;
    const { jobs, timers, reports, log } = setUp({
      k: async () => {
        runs++;
      },
    });
    const acknowledge = jobs.acknowledgeAll.bind(jobs);
    jobs.acknowledgeAll = async () => {
      throw new Refusal('store_full', 'full');
    };
    await jobs.enqueue('q', job('a'));
    await timers.pass(0);
    expect(reports).toEqual(['q k unsettled 0']);
    expect(log.lines.map(({ event }) => event)).toEqual(['job_not_settled']);
    jobs.acknowledgeAll = acknowledge;
    await timers.pass(1_000);
    expect([runs, reports[1]]).toEqual([2, 'q k done 0']);
  });
});

describe('a queue behind a circuit breaker', () => {
  const DOWN = failed('down', { isServiceDown: true });
  const PING = { id: 'p', sources: [] };

  /** Handlers that end without a call to the service. */
  const WITHOUT_CALL: Readonly<Record<string, JobHandler>> = {
    gone: async () => undefined,
    fails: fail(new JobFailure('the store is away')),
    throws: () => {
      throw new Error('at once');
    },
    hangs: () => new Promise(() => undefined),
  };

  it.each([...Object.keys(WITHOUT_CALL), 'unheard'])(
    '[PING-30] if the probe ends without a call (%s), the next job is the probe without waiting',
    async (kind) => {
      const clock = settableClock();
      const jobs = openMemoryJobs({ clock });
      const timers = new ManualTimers(clock);
      const gate = new ServiceGate({ clock, jitter: () => 1, perSecondMax: 1_000 });
      const outcomes: PingOutcome[] = [...new Array(5).fill(DOWN), { status: 'accepted' }];
      const service = gate.watch({ notify: async () => outcomes.shift() ?? DOWN });
      const call: JobHandler = async () => void (await service.notify(PING_TARGET, PING));
      const handlers = new Map(Object.entries({ ...WITHOUT_CALL, call }));
      const runner = new JobRunner({ jobs, handlers, clock, timers, jitter: () => 1, log: collectingLog() });
      onTestFinished(() => stopAtOnce(runner, timers));
      runner.serve('q', { workers: 5, pollMs: 100, jobMsMax: 50, gate });
      const calls = Array.from({ length: 5 }, () => job('', { kind: 'call' }));
      await jobs.enqueueAll('q', [...calls, job('', { kind }), job('', { kind: 'call' })]);
      await timers.pass(999);
      expect([gate.isOpen, outcomes.length]).toEqual([false, 1]);
      await timers.pass(300);
      expect([gate.isOpen, outcomes.length]).toEqual([true, 0]);
    },
  );
});

describe('a queue with a rate', () => {
  it('[JOB-38] a queue starts no more jobs per second than configured, however many wait and however many workers it has', async () => {
    let done = 0;
    const handlers = {
      work: async () => {
        done++;
      },
    };
    const { jobs, timers } = setUp(handlers, { workers: 8, perSecond: 4, pollMs: 10 });
    const many = Array.from({ length: 20 }, (): NewJob => ({ kind: 'work', payload: '', attemptsMax: 1 }));
    await timers.pass(1_000);
    await jobs.enqueueAll('q', many);
    const counts: number[] = [];
    for (let second = 0; second < 3; second++) {
      const before = done;
      await timers.pass(1_000);
      counts.push(done - before);
    }
    for (const count of counts) expect(count).toBeLessThanOrEqual(5);
    expect(done).toBeGreaterThanOrEqual(12);
  });
});
