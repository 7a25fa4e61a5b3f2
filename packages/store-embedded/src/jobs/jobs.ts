import {
  type Clock,
  createJobs,
  isAhead,
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
import { DEAD_JOBS_PER_QUEUE_MAX, JOBS_PER_QUEUE_MAX } from '@tidemark/protocol';
import type { EngineContext } from '../engine-context.ts';
import type { Tables } from '../tables.ts';
import { firstNumberIn, keysInState } from './job-keys.ts';
import { readQueue } from './job-rows.ts';
import type { JobsBounds, JobsCall } from './jobs-task.ts';
import { describeQueue, findJob, inspectJobs, queueNames } from './read-jobs.ts';

export interface EmbeddedJobsOptions {
  readonly clock: Clock;
  readonly bounds?: Partial<JobsBounds>;
}

export interface EmbeddedJobs {
  readonly jobs: Jobs;
  /** Sends the calls that wait for the end of the turn: the store is about to close. */
  flush(): void;
}

export function embeddedJobs(context: EngineContext, { clock, bounds }: EmbeddedJobsOptions): EmbeddedJobs {
  const allBounds = { jobsPerQueueMax: JOBS_PER_QUEUE_MAX, deadPerQueueMax: DEAD_JOBS_PER_QUEUE_MAX, ...bounds };
  const engine = new EmbeddedJobEngine(context, clock, allBounds);
  return { jobs: createJobs(engine, allBounds), flush: () => engine.flush() };
}

/** Calls about one queue, made in the same turn of the event loop, that are sent as one task. */
interface CallBatch {
  readonly nowMs: number;
  readonly calls: JobsCall[];
  readonly answers: Promise<readonly unknown[]>;
  readonly send: () => void;
}

const CALLS_PER_TASK_MAX = 1_000;
/** Sweeps before a read; each of them ends many leases. */
const SWEEPS_MAX = 1_000;

/**
 * Job queues in the file of the embedded store, written by its writer thread. A job is as durable as any write and shares
 * its flush. No job is kept in memory: several processes may work on the same queues.
 */
class EmbeddedJobEngine implements JobEngine {
  readonly #context: EngineContext;
  readonly #clock: Clock;
  readonly #bounds: JobsBounds;
  readonly #batches = new Map<string, CallBatch>();

  constructor(context: EngineContext, clock: Clock, bounds: JobsBounds) {
    this.#context = context;
    this.#clock = clock;
    this.#bounds = bounds;
  }

  enqueue(queue: string, jobs: readonly NewJob[]): Promise<readonly string[] | null> {
    return this.#write(queue, { do: 'enqueue', jobs });
  }

  async lease(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]> {
    // A queue without due jobs costs no write, so it can be polled often.
    if (!this.#isLeasing(queue) && !this.#mayLease(this.#context.read(), queue)) return [];
    return this.#write(queue, { do: 'lease', leaseMs, jobsMax });
  }

  acknowledge(queue: string, jobs: readonly LeasedJob[]): Promise<readonly boolean[]> {
    const ids = jobs.map(({ id }) => id);
    const leases = jobs.map(({ lease }) => lease);
    return this.#write(queue, { do: 'done', ids, leases });
  }

  settle({ queue, id, lease }: LeasedJob, action: LeaseAction): Promise<'settled' | 'dead' | 'lease_lost'> {
    return this.#write(queue, { do: 'settle', id, lease, action });
  }

  administer(queue: string, action: QueueAction): Promise<boolean> {
    return this.#write(queue, action);
  }

  async inspect(
    queue: string,
    state: JobState,
    list: { readonly after?: string; readonly limit: number },
  ): Promise<JobPage> {
    const tables = await this.#swept(queue);
    return inspectJobs(tables, { queue, state, nowMs: this.#clock.nowMs() }, list);
  }

  async find(queue: string, id: string): Promise<JobView | null> {
    return findJob(await this.#swept(queue), queue, id, this.#clock.nowMs());
  }

  async describe(queue: string): Promise<QueueView> {
    return describeQueue(await this.#swept(queue), queue, this.#clock.nowMs());
  }

  async queues(): Promise<readonly string[]> {
    return queueNames(this.#context.read());
  }

  flush(): void {
    for (const { send } of [...this.#batches.values()]) send();
  }

  #mayLease(tables: Tables, queue: string): boolean {
    const nowMs = this.#clock.nowMs();
    const { isPaused, latestMs = 0 } = readQueue(tables, queue);
    if (isPaused) return false;
    return (
      isAhead(latestMs, nowMs) ||
      firstNumberIn(tables, keysInState(queue, 'ready', 0, nowMs)) !== null ||
      firstNumberIn(tables, keysInState(queue, 'leased', 0, nowMs)) !== null
    );
  }

  /**
   * Returns the tables after the expired leases of the queue have ended. When the disk accepts no writes, it returns them
   * as they are, so that reading still works.
   */
  async #swept(queue: string): Promise<Tables> {
    for (let count = 0; count < SWEEPS_MAX; count++) {
      const tables = this.#context.read();
      const nowMs = this.#clock.nowMs();
      const isSetBack = isAhead(readQueue(tables, queue).latestMs ?? 0, nowMs);
      if (!isSetBack && firstNumberIn(tables, keysInState(queue, 'leased', 0, nowMs)) === null) return tables;
      try {
        await this.#write(queue, { do: 'sweep' });
      } catch {
        break;
      }
    }
    return this.#context.read();
  }

  /** The caller knows the type of the result. */
  async #write<T>(queue: string, call: JobsCall): Promise<T> {
    const batch = this.#openBatch(queue);
    const index = batch.calls.push(call) - 1;
    return (await batch.answers)[index] as T;
  }

  /** Returns the batch of calls about the queue that is sent at the end of this turn of the event loop. */
  #openBatch(queue: string): CallBatch {
    const nowMs = this.#clock.nowMs();
    const known = this.#batches.get(queue);
    if (known !== undefined && known.nowMs === nowMs && known.calls.length < CALLS_PER_TASK_MAX) return known;
    known?.send();
    const batch = this.#newBatch(queue, nowMs);
    this.#batches.set(queue, batch);
    setImmediate(batch.send);
    return batch;
  }

  #newBatch(queue: string, nowMs: number): CallBatch {
    const calls: JobsCall[] = [];
    let resolve: (answers: Promise<readonly unknown[]>) => void = () => undefined;
    const answers = new Promise<readonly unknown[]>((settle) => {
      resolve = settle;
    });
    let isSent = false;
    const send = () => {
      if (isSent) return;
      isSent = true;
      if (this.#batches.get(queue)?.calls === calls) this.#batches.delete(queue);
      resolve(this.#context.write({ kind: 'jobs', task: { calls, queue, nowMs, bounds: this.#bounds } }));
    };
    return { nowMs, calls, answers, send };
  }

  /** True: another call of this turn already leases from the queue, so there is no need to look first. */
  #isLeasing(queue: string): boolean {
    const batch = this.#batches.get(queue);
    return batch !== undefined && batch.calls.at(-1)?.do === 'lease' && batch.nowMs === this.#clock.nowMs();
  }
}
