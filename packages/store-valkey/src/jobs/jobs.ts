import {
  type Clock,
  createJobs,
  type JobEngine,
  type JobPage,
  type JobState,
  type Jobs,
  type JobView,
  type LeaseAction,
  type LeasedJob,
  type NewJob,
  type QueueAction,
  type QueueView,
} from '@tidemark/core/ports';
import { DEAD_JOBS_PER_QUEUE_MAX, JOBS_PER_QUEUE_MAX, Refusal } from '@tidemark/protocol';
import type { Keyspace } from '../connection.ts';
import { unavailable } from '../failure.ts';
import { DIGITS } from '../keys.ts';
import type { OpenCalls } from '../lifecycle.ts';
import type { Parameters, ValuesOf } from '../scripts/script.ts';
import { listOf, numberOf, type Reply, textListOf, textOf } from '../wire.ts';
import { fromOptional, optional } from './move-jobs.ts';
import {
  acknowledgeScript,
  adminScript,
  describeScript,
  enqueueScript,
  findScript,
  inspectScript,
  leaseScript,
  NUMBER_DIGITS,
  type QueueScript,
  settleScript,
} from './scripts.ts';

export interface ValkeyJobsOptions {
  readonly clock: Clock;
  readonly bounds?: { readonly jobsPerQueueMax?: number; readonly deadPerQueueMax?: number };
}

/** Calls in a row that only end expired leases; each ends many. */
const CALLS_MAX = 1_100;
const ID = new RegExp(`^\\d{${NUMBER_DIGITS}}$`);
/** The position in a listing: a time or an order key, and a number. */
const CURSOR = new RegExp(`^(?:\\d{${DIGITS}}|[0-9a-f]{40})\\d{${NUMBER_DIGITS}}$`);

export function valkeyJobs(keyspace: Keyspace, calls: OpenCalls, { clock, bounds = {} }: ValkeyJobsOptions): Jobs {
  const { jobsPerQueueMax = JOBS_PER_QUEUE_MAX, deadPerQueueMax = DEAD_JOBS_PER_QUEUE_MAX } = bounds;
  const engine = new ValkeyJobEngine(keyspace, calls, { clock, jobsPerQueueMax, deadPerQueueMax });
  return createJobs(engine, { jobsPerQueueMax });
}

interface EngineConfig {
  readonly clock: Clock;
  readonly jobsPerQueueMax: number;
  readonly deadPerQueueMax: number;
}

/**
 * Job queues on the store's server: one hash tag per queue and one script per call, so that any number of servers can work
 * on the same queues.
 */
class ValkeyJobEngine implements JobEngine {
  readonly #keyspace: Keyspace;
  readonly #calls: OpenCalls;
  readonly #config: EngineConfig;

  constructor(keyspace: Keyspace, calls: OpenCalls, config: EngineConfig) {
    this.#keyspace = keyspace;
    this.#calls = calls;
    this.#config = config;
  }

  async enqueue(queue: string, jobs: readonly NewJob[]): Promise<readonly string[] | null> {
    await this.#register(queue);
    const newJobs = jobs.map(({ kind, payload, attemptsMax, order, dueAtMs = '' }) => {
      return { kind, payload, attemptsMax, order: optional(order), dueAtMs };
    });
    const { jobsPerQueueMax: jobsMax } = this.#config;
    const [kind, ...ids] = textListOf(await this.#run(queue, enqueueScript, { jobsMax, newJobs }));
    return kind === 'full' ? null : ids;
  }

  async lease(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]> {
    const jobs = listOf(await this.#run(queue, leaseScript, { leaseMs, jobsMax }));
    return jobs.map((job) => leasedFrom(queue, job));
  }

  async acknowledge(queue: string, leases: readonly LeasedJob[]): Promise<readonly boolean[]> {
    const counted = listOf(await this.#run(queue, acknowledgeScript, { leases }));
    return counted.map((one) => numberOf(one) === 1);
  }

  async settle({ queue, id, lease }: LeasedJob, action: LeaseAction): Promise<'settled' | 'dead' | 'lease_lost'> {
    const outcome = await this.#run(queue, settleScript, { id, lease, ...settleValues(action) });
    return textOf(outcome) as 'settled' | 'dead' | 'lease_lost';
  }

  async administer(queue: string, action: QueueAction): Promise<boolean> {
    const id = 'id' in action ? action.id : '';
    if ('id' in action && !ID.test(id)) return false;
    if (action.do === 'pause') await this.#register(queue);
    return numberOf(await this.#run(queue, adminScript, { action: action.do, id })) === 1;
  }

  async inspect(
    queue: string,
    state: JobState,
    { after = '', limit }: { readonly after?: string; readonly limit: number },
  ): Promise<JobPage> {
    if (after !== '' && !CURSOR.test(after)) {
      throw new Refusal('invalid_value', 'after: expected the `next` of an earlier page of these jobs');
    }
    const [next, ...views] = listOf(await this.#run(queue, inspectScript, { state, after, limit }));
    return { jobs: views.map(viewFrom), next: textOf(next) === '' ? null : textOf(next) };
  }

  async find(queue: string, id: string): Promise<JobView | null> {
    if (!ID.test(id)) return null;
    const view = listOf(await this.#run(queue, findScript, { id }));
    return view.length === 0 ? null : viewFrom(view);
  }

  async describe(queue: string): Promise<QueueView> {
    const reply = listOf(await this.#run(queue, describeScript, {}));
    const [due = 0, delayed = 0, waiting = 0, leased = 0, dead = 0, lagMs = 0] = reply.slice(1).map(numberOf);
    return { queue, isPaused: textOf(reply[0]) === '1', counts: { due, delayed, waiting, leased, dead }, lagMs };
  }

  /** The list contains every queue that ever existed, so each is asked whether it has jobs or is paused. */
  async queues(): Promise<readonly string[]> {
    const { connection, layout } = this.#keyspace;
    const names = textListOf(await this.#calls.run(() => connection.command('ZRANGE', layout.queues, 0, -1)));
    const views = await Promise.all(names.map((name) => this.describe(name)));
    const isUsed = ({ isPaused, counts }: QueueView) => isPaused || Object.values(counts).some((count) => count > 0);
    return views.filter(isUsed).map(({ queue }) => queue);
  }

  /** Adds the queue to the list of queues. */
  #register(queue: string): Promise<Reply> {
    const { connection, layout } = this.#keyspace;
    return this.#calls.run(() => connection.command('ZADD', layout.queues, 0, queue));
  }

  /** Repeats the call while the script replies that it has only ended expired leases. */
  #run<P extends Parameters>(queue: string, script: QueueScript<P>, values: ValuesOf<P>): Promise<Reply> {
    const { connection, layout } = this.#keyspace;
    const { clock, deadPerQueueMax: deadMax } = this.#config;
    return this.#calls.run(async () => {
      const keys = layout.queue(queue);
      for (let count = 0; count < CALLS_MAX; count++) {
        const args = script.args({ nowMs: clock.nowMs(), deadMax }, values);
        const reply = await connection.write(script, keys, args);
        if (!Buffer.isBuffer(reply) || reply.toString() !== 'more') return reply;
      }
      throw unavailable('more leases expired than could be ended');
    });
  }
}

function settleValues(action: LeaseAction) {
  const due = action.do === 'give_back' ? action.later : action;
  const reason = due !== null && 'reason' in due ? due.reason : '';
  const atMs = due !== null && 'atMs' in due ? due.atMs : null;
  return { action: action.do, timeMs: action.do === 'renew' ? action.leaseMs : atMs, reason };
}

function leasedFrom(queue: string, reply: Reply): LeasedJob {
  const [id = '', kind = '', payload = '', attempt, attemptsMax, lease = ''] = textListOf(reply);
  return { id, queue, kind, payload, attempt: Number(attempt), attemptsMax: Number(attemptsMax), lease };
}

function viewFrom(reply: Reply): JobView {
  const [id = '', kind = '', state, order, attempt, attemptsMax, enqueuedAtMs, dueAtMs, reason] = textListOf(reply);
  return {
    id,
    kind,
    state: state as JobState,
    order: fromOptional(order),
    attempt: Number(attempt),
    attemptsMax: Number(attemptsMax),
    enqueuedAtMs: Number(enqueuedAtMs),
    dueAtMs: Number(dueAtMs),
    lastReason: fromOptional(reason),
  };
}
