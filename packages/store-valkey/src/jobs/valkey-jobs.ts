import {
  acknowledgeAllProblem,
  type Clock,
  enqueueProblem,
  type JobPage,
  type JobState,
  type Jobs,
  type JobView,
  keptReason,
  type LeasedJob,
  leaseManyProblem,
  leaseProblem,
  listProblem,
  type NewJob,
  type QueueView,
  queueProblem,
  timeProblem,
} from '@tidemark/core/ports';
import { DEAD_JOBS_PER_QUEUE_MAX, JOBS_PER_QUEUE_MAX, Refusal } from '@tidemark/protocol';
import { unavailable } from '../failure.ts';
import { DIGITS } from '../keys.ts';
import type { Layout } from '../layout.ts';
import type { Link } from '../link.ts';
import { listArgs } from '../lists.ts';
import { bytesOf, listOf, numberOf, textOf } from '../reply.ts';
import type { Script } from '../scripts/script.ts';
import type { Argument, Reply } from '../wire.ts';
import {
  acknowledgeScript,
  describeScript,
  enqueueScript,
  findScript,
  inspectScript,
  leaseScript,
  NUMBER_DIGITS,
  operateScript,
  settleScript,
} from './queue-scripts.ts';

export interface ValkeyJobsOptions {
  readonly clock: Clock;
  readonly bounds?: { readonly jobsPerQueueMax?: number; readonly deadPerQueueMax?: number };
}

/** The ways into the store that the jobs need. */
export interface JobsGround {
  readonly link: Link;
  readonly layout: Layout;
  /** Closing the store waits for what was begun before. */
  serve<T>(work: () => Promise<T>): Promise<T>;
}

const QUEUE_FULL_RETRY_S = 30;
/** Calls that only end leases; each of them ends many. */
const SWEEPS_MAX = 1_100;
const ID = new RegExp(`^\\d{${NUMBER_DIGITS}}$`);
/** A time and a number, or a line and a number. */
const PLACE = new RegExp(`^(?:\\d{${DIGITS}}|[0-9a-f]{40})\\d{${NUMBER_DIGITS}}$`);

/**
 * Jobs on the store's own server, one hash tag per queue and one script per call, so any number of servers may work on
 * the same queues. Nothing is kept in memory but who watches.
 */
export class ValkeyJobs implements Jobs {
  readonly #ground: JobsGround;
  readonly #clock: Clock;
  readonly #jobsMax: number;
  readonly #deadMax: number;
  readonly #watchers = new Map<string, Set<() => void>>();

  constructor(ground: JobsGround, { clock, bounds = {} }: ValkeyJobsOptions) {
    this.#ground = ground;
    this.#clock = clock;
    this.#jobsMax = bounds.jobsPerQueueMax ?? JOBS_PER_QUEUE_MAX;
    this.#deadMax = bounds.deadPerQueueMax ?? DEAD_JOBS_PER_QUEUE_MAX;
  }

  async enqueue(queue: string, job: NewJob): Promise<string> {
    const [id] = await this.enqueueAll(queue, [job]);
    if (id === undefined) throw new Error('a job was enqueued without an id');
    return id;
  }

  async enqueueAll(queue: string, jobs: readonly NewJob[]): Promise<readonly string[]> {
    insist(enqueueProblem(queue, jobs));
    if (jobs.length === 0) return [];
    const [kind, ...ids] = listOf(
      await this.#enrolled(queue, enqueueScript, [this.#jobsMax, ...listArgs(jobs.flatMap(jobArgs))]),
    );
    if (textOf(kind) === 'full') {
      const detail = `the queue ${JSON.stringify(queue)} holds the ${this.#jobsMax} jobs allowed`;
      throw new Refusal('queue_full', detail, [], QUEUE_FULL_RETRY_S);
    }
    this.#tell(queue);
    return ids.map((id) => textOf(id));
  }

  async lease(queue: string, leaseMs: number): Promise<LeasedJob | null> {
    const [job] = await this.leaseMany(queue, leaseMs, 1);
    return job ?? null;
  }

  async leaseMany(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]> {
    insist(leaseManyProblem(queue, leaseMs, jobsMax));
    const reply = listOf(await this.#run(queue, leaseScript, [this.#deadMax, leaseMs, jobsMax]));
    return reply.map((job) => leasedFrom(queue, listOf(job)));
  }

  async renew(job: LeasedJob, leaseMs: number): Promise<boolean> {
    insist(leaseProblem(leaseMs));
    return (await this.#settle(job, 'renew', leaseMs)) !== 'lease_lost';
  }

  async acknowledge(job: LeasedJob): Promise<boolean> {
    return (await this.#settle(job, 'done')) !== 'lease_lost';
  }

  async acknowledgeAll(queue: string, jobs: readonly LeasedJob[]): Promise<readonly boolean[]> {
    insist(acknowledgeAllProblem(queue, jobs));
    if (jobs.length === 0) return [];
    const held = listArgs(jobs.flatMap(({ id, lease }) => [id, lease]));
    const counted = listOf(await this.#run(queue, acknowledgeScript, [this.#deadMax, ...held]));
    this.#tell(queue);
    return counted.map((one) => numberOf(one) === 1);
  }

  async retry(job: LeasedJob, atMs: number, reason: string): Promise<'retrying' | 'dead' | 'lease_lost'> {
    insist(timeProblem(atMs));
    const outcome = await this.#settle(job, 'retry', atMs, reason);
    return outcome === 'settled' ? 'retrying' : outcome;
  }

  async bury(job: LeasedJob, reason: string): Promise<boolean> {
    return (await this.#settle(job, 'bury', '', reason)) !== 'lease_lost';
  }

  async giveBack(job: LeasedJob): Promise<boolean> {
    return (await this.#settle(job, 'give_back')) !== 'lease_lost';
  }

  async pause(queue: string): Promise<void> {
    insist(queueProblem(queue));
    await this.#enrolled(queue, operateScript, [this.#deadMax, 'pause', '']);
  }

  async resume(queue: string): Promise<void> {
    await this.#operate(queue, 'resume', '');
  }

  revive(queue: string, id: string): Promise<boolean> {
    return this.#operate(queue, 'revive', id);
  }

  remove(queue: string, id: string): Promise<boolean> {
    return this.#operate(queue, 'remove', id);
  }

  async inspect(
    queue: string,
    state: JobState,
    { after = '', limit }: { readonly after?: string; readonly limit: number },
  ): Promise<JobPage> {
    insist(queueProblem(queue) ?? listProblem(limit));
    if (after !== '' && !PLACE.test(after)) {
      throw new Refusal('invalid_value', 'that is no place in this listing of jobs');
    }
    const [next, ...views] = listOf(await this.#run(queue, inspectScript, [this.#deadMax, state, after, limit]));
    return { jobs: views.map((view) => viewFrom(listOf(view))), next: textOf(next) === '' ? null : textOf(next) };
  }

  async find(queue: string, id: string): Promise<JobView | null> {
    insist(queueProblem(queue));
    if (!ID.test(id)) return null;
    const view = listOf(await this.#run(queue, findScript, [this.#deadMax, id]));
    return view.length === 0 ? null : viewFrom(view);
  }

  async describe(queue: string): Promise<QueueView> {
    insist(queueProblem(queue));
    const [paused, ...numbers] = listOf(await this.#run(queue, describeScript, [this.#deadMax]));
    const [due = 0, delayed = 0, waiting = 0, leased = 0, dead = 0, lagMs = 0] = numbers.map(numberOf);
    return { queue, isPaused: textOf(paused) === '1', counts: { due, delayed, waiting, leased, dead }, lagMs };
  }

  /** Every queue that ever was is enrolled; which of them have something to say is asked of each. */
  async queues(): Promise<readonly string[]> {
    const { link, layout } = this.#ground;
    const all = await this.#ground.serve(async () => listOf(await link.command('ZRANGE', layout.queues, 0, -1)));
    const names = all.map((name) => bytesOf(name).toString('utf8'));
    const views = await Promise.all(names.map((name) => this.describe(name)));
    return views.filter(({ isPaused, counts }) => isPaused || sumOf(counts) > 0).map(({ queue }) => queue);
  }

  watch(queue: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(queue) ?? new Set();
    // Each call has an end of its own, also when the same function watches twice.
    const watcher = () => onChange();
    this.#watchers.set(queue, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(queue) === watchers) this.#watchers.delete(queue);
    };
  }

  async #settle(
    { queue, id, lease }: LeasedJob,
    verdict: 'renew' | 'done' | 'retry' | 'bury' | 'give_back',
    at: number | '' = '',
    reason = '',
  ): Promise<'settled' | 'dead' | 'lease_lost'> {
    const args = [this.#deadMax, id, lease, verdict, at, keptReason(reason)];
    const outcome = textOf(await this.#run(queue, settleScript, args));
    this.#tell(queue);
    return outcome as 'settled' | 'dead' | 'lease_lost';
  }

  async #operate(queue: string, act: 'resume' | 'revive' | 'remove', id: string): Promise<boolean> {
    insist(queueProblem(queue));
    if (act !== 'resume' && !ID.test(id)) return false;
    const isDone = numberOf(await this.#run(queue, operateScript, [this.#deadMax, act, id])) === 1;
    this.#tell(queue);
    return isDone;
  }

  /** The queue is to be found by those who look for queues. */
  async #enrolled(queue: string, script: Script, args: readonly Argument[]): Promise<Reply> {
    const { link, layout } = this.#ground;
    await this.#ground.serve(() => link.command('ZADD', layout.queues, 0, queue));
    return this.#run(queue, script, args);
  }

  #run(queue: string, script: Script, args: readonly Argument[]): Promise<Reply> {
    const { link, layout } = this.#ground;
    const keys = layout.queue(queue);
    return this.#ground.serve(async () => {
      for (let sweeps = 0; sweeps < SWEEPS_MAX; sweeps++) {
        const reply = await link.write(script, keys, [this.#clock.nowMs(), ...args]);
        if (!Buffer.isBuffer(reply) || reply.toString() !== 'more') return reply;
      }
      throw unavailable('more leases ran out than could be ended');
    });
  }

  #tell(queue: string): void {
    for (const onChange of [...(this.#watchers.get(queue) ?? [])]) onChange();
  }
}

function jobArgs({ kind, payload, attemptsMax, order, dueAtMs }: NewJob): (string | number)[] {
  return [kind, payload, attemptsMax, order === undefined ? '' : `=${order}`, dueAtMs ?? ''];
}

function leasedFrom(queue: string, job: readonly Reply[]): LeasedJob {
  const [id, kind, payload, attempt, attemptsMax, lease] = job;
  return {
    ...{ id: textOf(id), queue, kind: textOf(kind), payload: textOf(payload), lease: textOf(lease) },
    ...{ attempt: numberOf(attempt), attemptsMax: numberOf(attemptsMax) },
  };
}

function viewFrom(view: readonly Reply[]): JobView {
  const [id, kind, state, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, reason] = view.map((text) =>
    textOf(text),
  );
  return {
    id: id ?? '',
    kind: kind ?? '',
    state: state as JobState,
    order: given(order),
    attempt: Number(attempt),
    attemptsMax: Number(attemptsMax),
    enqueuedAtMs: Number(enqueuedAtMs),
    dueAtMs: Number(dueAtMs),
    lastReason: given(reason),
  };
}

function given(text: string | undefined): string | null {
  return text === undefined || text === '' ? null : text.slice(1);
}

function sumOf(counts: Readonly<Record<JobState, number>>): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0);
}

function insist(problem: string | null): void {
  if (problem !== null) throw new RangeError(problem);
}
