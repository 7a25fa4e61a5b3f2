import {
  acknowledgeAllProblem,
  type Clock,
  enqueueProblem,
  isAhead,
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
import type { EngineContext } from '../engine-context.ts';
import type { Tables } from '../tables.ts';
import { firstNumberIn, keysInState } from './job-keys.ts';
import { readQueue } from './job-rows.ts';
import type { JobsBounds, JobsCall, Verdict } from './jobs-task.ts';
import { describeQueue, findJob, inspectJobs, queueNames } from './read-jobs.ts';

export interface EmbeddedJobsOptions {
  readonly clock: Clock;
  readonly bounds?: Partial<JobsBounds>;
}

/** Calls about one queue, made in the same turn of the event loop, that are sent as one task. */
interface CallBatch {
  readonly nowMs: number;
  readonly calls: JobsCall[];
  readonly answers: Promise<readonly unknown[]>;
  readonly send: () => void;
}

const QUEUE_FULL_RETRY_S = 30;
const CALLS_PER_TASK_MAX = 1_000;
/** Sweeps before a read; each of them ends many leases. */
const SWEEPS_MAX = 1_000;

/**
 * Job queues in the file of the embedded store, written by its writer thread. A job is as durable as any write and shares
 * its flush. Only the watchers are kept in memory: several processes may work on the same queues.
 */
export class EmbeddedJobs implements Jobs {
  readonly #context: EngineContext;
  readonly #clock: Clock;
  readonly #bounds: JobsBounds;
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #batches = new Map<string, CallBatch>();

  constructor(context: EngineContext, { clock, bounds }: EmbeddedJobsOptions) {
    this.#context = context;
    this.#clock = clock;
    this.#bounds = { jobsPerQueueMax: JOBS_PER_QUEUE_MAX, deadPerQueueMax: DEAD_JOBS_PER_QUEUE_MAX, ...bounds };
  }

  async enqueue(queue: string, job: NewJob): Promise<string> {
    const [id] = await this.enqueueAll(queue, [job]);
    if (id === undefined) throw new Error('a job was enqueued without an id');
    return id;
  }

  async enqueueAll(queue: string, jobs: readonly NewJob[]): Promise<readonly string[]> {
    requireNoProblem(enqueueProblem(queue, jobs));
    if (jobs.length === 0) return [];
    const ids = (await this.#write(queue, { do: 'enqueue', jobs })) as readonly string[] | null;
    if (ids === null) {
      const detail = `the queue ${JSON.stringify(queue)} holds the ${this.#bounds.jobsPerQueueMax} jobs allowed`;
      throw new Refusal('queue_full', detail, [], QUEUE_FULL_RETRY_S);
    }
    this.#notify(queue);
    return ids;
  }

  async lease(queue: string, leaseMs: number): Promise<LeasedJob | null> {
    const [job] = await this.leaseMany(queue, leaseMs, 1);
    return job ?? null;
  }

  async leaseMany(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]> {
    requireNoProblem(leaseManyProblem(queue, leaseMs, jobsMax));
    // A queue without due jobs costs no write, so it can be polled often.
    if (!this.#isLeasing(queue) && !this.#mayLease(this.#context.read(), queue)) return [];
    return (await this.#write(queue, { do: 'lease', leaseMs, jobsMax })) as readonly LeasedJob[];
  }

  async renew(job: LeasedJob, leaseMs: number): Promise<boolean> {
    requireNoProblem(leaseProblem(leaseMs));
    return (await this.#settle(job, { say: 'renew', leaseMs })) !== 'lease_lost';
  }

  async acknowledge(job: LeasedJob): Promise<boolean> {
    return (await this.#settle(job, { say: 'done' })) !== 'lease_lost';
  }

  async acknowledgeAll(queue: string, jobs: readonly LeasedJob[]): Promise<readonly boolean[]> {
    requireNoProblem(acknowledgeAllProblem(queue, jobs));
    if (jobs.length === 0) return [];
    const ids = jobs.map(({ id }) => id);
    const leases = jobs.map(({ lease }) => lease);
    const counted = (await this.#write(queue, { do: 'done', ids, leases })) as readonly boolean[];
    this.#notify(queue);
    return counted;
  }

  async retry(job: LeasedJob, atMs: number, reason: string): Promise<'retrying' | 'dead' | 'lease_lost'> {
    requireNoProblem(timeProblem(atMs));
    const outcome = await this.#settle(job, { say: 'retry', atMs, reason: keptReason(reason) });
    return outcome === 'settled' ? 'retrying' : outcome;
  }

  async bury(job: LeasedJob, reason: string): Promise<boolean> {
    return (await this.#settle(job, { say: 'bury', reason: keptReason(reason) })) !== 'lease_lost';
  }

  async giveBack(job: LeasedJob): Promise<boolean> {
    return (await this.#settle(job, { say: 'give_back' })) !== 'lease_lost';
  }

  async pause(queue: string): Promise<void> {
    requireNoProblem(queueProblem(queue));
    await this.#write(queue, { do: 'pause', isPaused: true });
  }

  async resume(queue: string): Promise<void> {
    requireNoProblem(queueProblem(queue));
    await this.#write(queue, { do: 'pause', isPaused: false });
    this.#notify(queue);
  }

  async revive(queue: string, id: string): Promise<boolean> {
    requireNoProblem(queueProblem(queue));
    const isRevived = (await this.#write(queue, { do: 'revive', id })) as boolean;
    this.#notify(queue);
    return isRevived;
  }

  async remove(queue: string, id: string): Promise<boolean> {
    requireNoProblem(queueProblem(queue));
    const isRemoved = (await this.#write(queue, { do: 'remove', id })) as boolean;
    this.#notify(queue);
    return isRemoved;
  }

  async inspect(
    queue: string,
    state: JobState,
    list: { readonly after?: string; readonly limit: number },
  ): Promise<JobPage> {
    requireNoProblem(queueProblem(queue) ?? listProblem(list.limit));
    const tables = await this.#swept(queue);
    return inspectJobs(tables, { queue, state, nowMs: this.#clock.nowMs() }, list);
  }

  async find(queue: string, id: string): Promise<JobView | null> {
    requireNoProblem(queueProblem(queue));
    return findJob(await this.#swept(queue), queue, id, this.#clock.nowMs());
  }

  async describe(queue: string): Promise<QueueView> {
    requireNoProblem(queueProblem(queue));
    return describeQueue(await this.#swept(queue), queue, this.#clock.nowMs());
  }

  async queues(): Promise<readonly string[]> {
    return queueNames(this.#context.read());
  }

  watch(queue: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(queue) ?? new Set();
    // A function of its own for each call, so that the same `onChange` can watch twice.
    const watcher = () => onChange();
    this.#watchers.set(queue, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#watchers.get(queue) === watchers) this.#watchers.delete(queue);
    };
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

  async #settle({ queue, id, lease }: LeasedJob, verdict: Verdict): Promise<'settled' | 'dead' | 'lease_lost'> {
    const outcome = await this.#write(queue, { do: 'settle', id, lease, verdict });
    this.#notify(queue);
    return outcome as 'settled' | 'dead' | 'lease_lost';
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

  /** Sends the calls that wait for the end of the turn: the store is about to close. */
  flush(): void {
    for (const { send } of [...this.#batches.values()]) send();
  }

  async #write(queue: string, call: JobsCall): Promise<unknown> {
    const batch = this.#openBatch(queue);
    const index = batch.calls.push(call) - 1;
    return (await batch.answers)[index];
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

  #notify(queue: string): void {
    for (const onChange of [...(this.#watchers.get(queue) ?? [])]) onChange();
  }
}

function requireNoProblem(problem: string | null): void {
  if (problem !== null) throw new RangeError(problem);
}
