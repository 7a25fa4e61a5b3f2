import { collectingLog, settableClock } from '@tidemark/testing';
import { expect, it } from 'vitest';
import { CRASH_WINDOW_MS, CRASHES_MAX, CrashBudget, Supervisor, type WorkerProcess } from './supervisor.ts';
import type { FromWorker, ToWorker } from './worker-message.ts';

/** A worker controlled by the test. */
class FakeWorker implements WorkerProcess {
  readonly id: number;
  readonly sent: ToWorker[] = [];
  readonly signals: string[] = [];
  #say: (message: FromWorker) => void = () => undefined;
  #end: (code: number | null, signal: string | null) => void = () => undefined;

  constructor(id: number) {
    this.id = id;
  }

  send(message: ToWorker): void {
    this.sent.push(message);
  }

  kill(signal: 'SIGTERM' | 'SIGKILL'): void {
    this.signals.push(signal);
    if (signal === 'SIGKILL') this.#end(null, signal);
  }

  onMessage(listener: (message: FromWorker) => void): void {
    this.#say = listener;
  }

  onExit(listener: (code: number | null, signal: string | null) => void): void {
    this.#end = listener;
  }

  say(message: FromWorker): void {
    this.#say(message);
  }

  becomeReady(generatedPassword: string | null = null): void {
    const ready = { url: 'http://here', adminLogin: 'admin', generatedPassword, isAdminPasswordIgnored: false };
    this.#say({ kind: 'ready', ready });
  }

  end(code: number | null, signal: string | null = null): void {
    this.#end(code, signal);
  }
}

/** Lets all pending promises settle. */
const settle = () => new Promise((resolve) => setImmediate(resolve));

function openSupervisor(count: number) {
  const workers: FakeWorker[] = [];
  const timers: { readonly delayMs: number; readonly callback: () => void }[] = [];
  const log = collectingLog();
  const clock = settableClock();
  const supervisor = new Supervisor({
    ...{ count, clock, log, stopMsMax: 1_000 },
    timers: {
      after(delayMs, callback) {
        const timer = { delayMs, callback };
        timers.push(timer);
        return () => void timers.splice(timers.indexOf(timer), 1);
      },
    },
    fork() {
      const worker = new FakeWorker(workers.length + 1);
      workers.push(worker);
      return worker;
    },
  });
  const worker = (id: number) => workers[id - 1] as FakeWorker;
  const start = async () => {
    const started = supervisor.start();
    for (let id = 1; id <= count; id++) {
      await settle();
      worker(id).becomeReady(id === 1 ? 'a new password' : null);
    }
    return started;
  };
  /** Fires the pending timer and returns its delay. */
  const fire = async () => {
    const timer = timers.shift();
    timer?.callback();
    await settle();
    return timer?.delayMs;
  };
  return { supervisor, workers, worker, log, start, fire, clock };
}

it('[WORK-1] the first worker starts alone, and its message is reported when all are ready', async () => {
  const { supervisor, workers, worker } = openSupervisor(3);
  const started = supervisor.start();
  await settle();
  expect(workers).toHaveLength(1);
  worker(1).becomeReady('a new password');
  await settle();
  expect(workers).toHaveLength(3);
  worker(3).becomeReady();
  expect(await Promise.race([started, settle().then(() => 'not yet')])).toBe('not yet');
  worker(2).becomeReady();
  expect(await started).toEqual({
    url: 'http://here',
    adminLogin: 'admin',
    generatedPassword: 'a new password',
    isAdminPasswordIgnored: false,
  });
});

it('[WORK-2] the reason why the first worker cannot start is reported once and unchanged', async () => {
  const { supervisor, workers, worker } = openSupervisor(3);
  const started = supervisor.start();
  worker(1).say({ kind: 'failed', failure: { message: 'the port is in use', hint: null, exitCode: 1 } });
  worker(1).end(0);
  await expect(started).rejects.toMatchObject({ failure: { message: 'the port is in use', exitCode: 1 } });
  expect(workers).toHaveLength(1);
});

it('[WORK-3] a worker that is killed before it is ready, the first one or another, is started again', async () => {
  const { supervisor, worker, log, fire } = openSupervisor(2);
  const started = supervisor.start();
  worker(1).end(null, 'SIGKILL');
  await settle();
  expect(await fire()).toBe(100);
  worker(2).becomeReady('a new password');
  await settle();
  worker(3).end(1);
  await settle();
  expect(await fire()).toBe(200);
  worker(4).becomeReady();
  expect(await started).toMatchObject({ generatedPassword: 'a new password' });
  expect(log.lines.map(({ event, fields }) => [event, fields?.reason])).toEqual([
    ['worker_not_started', 'a worker ended before it was ready (SIGKILL)'],
    ['worker_not_started', 'a worker ended before it was ready (exit code 1)'],
  ]);
});

it('[WORK-4] a worker that always ends before it is ready is given up with the reason', async () => {
  const { supervisor, worker, workers, fire } = openSupervisor(2);
  const started = supervisor.start();
  const rejected = expect(started).rejects.toThrow('a worker ended before it was ready (SIGSEGV)');
  for (let count = 0; count <= CRASHES_MAX; count++) {
    worker(workers.length).end(null, 'SIGSEGV');
    await settle();
    await fire();
  }
  await rejected;
  expect(workers).toHaveLength(1 + CRASHES_MAX);
});

it('[WORK-5] no worker is started again when the server stops during its start', async () => {
  const { supervisor, worker, workers, fire } = openSupervisor(2);
  const started = supervisor.start();
  worker(1).end(null, 'SIGKILL');
  await settle();
  await supervisor.stop();
  const rejected = expect(started).rejects.toThrow('a worker ended before it was ready (SIGKILL)');
  await fire();
  await rejected;
  expect(workers).toHaveLength(1);
});

it('[WORK-3] a worker that ends is restarted with growing delays, which is logged', async () => {
  const { workers, worker, log, start, fire } = openSupervisor(2);
  await start();
  worker(2).end(null, 'SIGKILL');
  expect(await fire()).toBe(100);
  worker(3).becomeReady();
  worker(3).end(1);
  expect(await fire()).toBe(200);
  // A worker that never becomes ready counts as well.
  worker(4).end(1);
  await settle();
  expect(await fire()).toBe(400);
  expect(workers).toHaveLength(5);
  const events = log.lines.map(({ event }) => event);
  expect(events).toEqual(['worker_ended', 'worker_ended', 'worker_replaced', 'worker_not_started', 'worker_ended']);
});

it('[WORK-4] workers that end too often are given up with an error', async () => {
  const { supervisor, worker, workers, start, fire } = openSupervisor(2);
  await start();
  for (let count = 0; count <= CRASHES_MAX; count++) {
    worker(workers.length).end(1);
    await fire();
    worker(workers.length).becomeReady();
  }
  await expect(supervisor.failed).rejects.toThrow('workers have crashed more than 10 times in a minute');
  expect(workers).toHaveLength(2 + CRASHES_MAX);
});

it('[WORK-4] crashes that are far apart never exhaust the budget', () => {
  const budget = new CrashBudget();
  for (let count = 0; count < 100; count++) {
    const nowMs = (count * CRASH_WINDOW_MS) / CRASHES_MAX;
    expect(budget.delayAfterCrash(nowMs)).toBeLessThanOrEqual(5_000);
  }
});

it('[WORK-5] on stop all workers are told to stop, none is restarted, and one that does not stop is killed', async () => {
  const { supervisor, workers, worker, start, fire } = openSupervisor(2);
  await start();
  const stopped = supervisor.stop();
  expect(workers.map(({ signals }) => signals)).toEqual([['SIGTERM'], ['SIGTERM']]);
  worker(1).end(0);
  expect(await Promise.race([stopped, settle().then(() => 'not yet')])).toBe('not yet');
  expect(await fire()).toBe(1_000);
  await stopped;
  expect([worker(2).signals, workers.length]).toEqual([['SIGTERM', 'SIGKILL'], 2]);
});

it('[WORK-6] metrics are aggregated from all workers that answer', async () => {
  const { worker, start, fire } = openSupervisor(2);
  await start();
  const requests = (value: number) =>
    [{ name: 'requests', help: 'h', type: 'counter', aggregator: 'sum', values: [{ value, labels: {} }] }] as never;
  worker(1).say({ kind: 'scrape', id: 5 });
  const [asked] = worker(2).sent;
  expect(worker(1).sent).toEqual([{ kind: 'measure', id: asked?.id }]);
  worker(1).say({ kind: 'measured', id: asked?.id ?? 0, metrics: requests(3) });
  worker(2).say({ kind: 'measured', id: asked?.id ?? 0, metrics: requests(4) });
  await settle();
  expect(worker(1).sent.at(-1)).toMatchObject({ kind: 'scraped', id: 5, text: expect.stringContaining('requests 7') });
  worker(2).say({ kind: 'scrape', id: 6 });
  worker(2).say({ kind: 'measured', id: worker(2).sent.at(-1)?.id ?? 0, metrics: requests(4) });
  expect(await fire()).toBe(2_000);
  await settle();
  expect(worker(2).sent.at(-1)).toMatchObject({ kind: 'scraped', id: 6, text: expect.stringContaining('requests 4') });
});
