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
import type { Tables } from '../tables.ts';
import type { JobsBounds, JobsCall, JobsTask, Verdict } from './jobs-task.ts';
import { readQueue } from './kept-queue.ts';
import { firstIn, placesOf } from './places.ts';
import { describeQueue, findJob, inspectJobs, queueNames } from './read-jobs.ts';

/** The ways into the store that the jobs need. */
export interface JobsStore {
  /** The tables as they are now. */
  read(): Tables;
  /** Resolves when the task is done and on the disk. */
  write(task: JobsTask): Promise<readonly unknown[]>;
}

export interface EmbeddedJobsOptions {
  readonly clock: Clock;
  readonly bounds?: Partial<JobsBounds>;
}

/** Calls about one queue, made at the same moment, that have not left yet. */
interface Gathered {
  readonly nowMs: number;
  readonly calls: JobsCall[];
  readonly answers: Promise<readonly unknown[]>;
  /** Sends them off. */
  readonly leave: () => void;
}

const QUEUE_FULL_RETRY_S = 30;
/** Calls that travel together. */
const CALLS_PER_TASK_MAX = 1_000;
/** Sweeps before a look; each of them ends many leases. */
const SWEEPS_MAX = 1_000;

/**
 * Jobs in the embedded store's own file and writer thread. So a job is as durable as a write and shares its flush, a
 * backup holds both, a reset empties both, and closing the store ends both. Nothing is kept in memory but who watches:
 * several processes may work on the same queues.
 */
export class EmbeddedJobs implements Jobs {
  readonly #store: JobsStore;
  readonly #clock: Clock;
  readonly #bounds: JobsBounds;
  readonly #watchers = new Map<string, Set<() => void>>();
  readonly #gathered = new Map<string, Gathered>();

  constructor(store: JobsStore, { clock, bounds }: EmbeddedJobsOptions) {
    this.#store = store;
    this.#clock = clock;
    this.#bounds = { jobsPerQueueMax: JOBS_PER_QUEUE_MAX, deadPerQueueMax: DEAD_JOBS_PER_QUEUE_MAX, ...bounds };
  }

  async enqueue(queue: string, job: NewJob): Promise<string> {
    const [id] = await this.enqueueAll(queue, [job]);
    if (id === undefined) throw new Error('a job was enqueued without an id');
    return id;
  }

  async enqueueAll(queue: string, jobs: readonly NewJob[]): Promise<readonly string[]> {
    insist(enqueueProblem(queue, jobs));
    if (jobs.length === 0) return [];
    const ids = (await this.#write(queue, { do: 'enqueue', jobs })) as readonly string[] | null;
    if (ids === null) {
      const detail = `the queue ${JSON.stringify(queue)} holds the ${this.#bounds.jobsPerQueueMax} jobs allowed`;
      throw new Refusal('queue_full', detail, [], QUEUE_FULL_RETRY_S);
    }
    this.#tell(queue);
    return ids;
  }

  async lease(queue: string, leaseMs: number): Promise<LeasedJob | null> {
    const [job] = await this.leaseMany(queue, leaseMs, 1);
    return job ?? null;
  }

  async leaseMany(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]> {
    insist(leaseManyProblem(queue, leaseMs, jobsMax));
    // Looking costs no write: a queue at rest can be asked as often as one likes.
    if (!this.#isLeasing(queue) && !this.#mayLease(this.#store.read(), queue)) return [];
    return (await this.#write(queue, { do: 'lease', leaseMs, jobsMax })) as readonly LeasedJob[];
  }

  async renew(job: LeasedJob, leaseMs: number): Promise<boolean> {
    insist(leaseProblem(leaseMs));
    return (await this.#settle(job, { say: 'renew', leaseMs })) !== 'lease_lost';
  }

  async acknowledge(job: LeasedJob): Promise<boolean> {
    return (await this.#settle(job, { say: 'done' })) !== 'lease_lost';
  }

  async acknowledgeAll(queue: string, jobs: readonly LeasedJob[]): Promise<readonly boolean[]> {
    insist(acknowledgeAllProblem(queue, jobs));
    if (jobs.length === 0) return [];
    const ids = jobs.map(({ id }) => id);
    const leases = jobs.map(({ lease }) => lease);
    const counted = (await this.#write(queue, { do: 'done', ids, leases })) as readonly boolean[];
    this.#tell(queue);
    return counted;
  }

  async retry(job: LeasedJob, atMs: number, reason: string): Promise<'retrying' | 'dead' | 'lease_lost'> {
    insist(timeProblem(atMs));
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
    insist(queueProblem(queue));
    await this.#write(queue, { do: 'pause', isPaused: true });
  }

  async resume(queue: string): Promise<void> {
    insist(queueProblem(queue));
    await this.#write(queue, { do: 'pause', isPaused: false });
    this.#tell(queue);
  }

  async revive(queue: string, id: string): Promise<boolean> {
    insist(queueProblem(queue));
    const isRevived = (await this.#write(queue, { do: 'revive', id })) as boolean;
    this.#tell(queue);
    return isRevived;
  }

  async remove(queue: string, id: string): Promise<boolean> {
    insist(queueProblem(queue));
    const isRemoved = (await this.#write(queue, { do: 'remove', id })) as boolean;
    this.#tell(queue);
    return isRemoved;
  }

  async inspect(
    queue: string,
    state: JobState,
    list: { readonly after?: string; readonly limit: number },
  ): Promise<JobPage> {
    insist(queueProblem(queue) ?? listProblem(list.limit));
    const tables = await this.#swept(queue);
    return inspectJobs(tables, { queue, state, nowMs: this.#clock.nowMs() }, list);
  }

  async find(queue: string, id: string): Promise<JobView | null> {
    insist(queueProblem(queue));
    return findJob(await this.#swept(queue), queue, id, this.#clock.nowMs());
  }

  async describe(queue: string): Promise<QueueView> {
    insist(queueProblem(queue));
    return describeQueue(await this.#swept(queue), queue, this.#clock.nowMs());
  }

  async queues(): Promise<readonly string[]> {
    return queueNames(this.#store.read());
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

  #mayLease(tables: Tables, queue: string): boolean {
    const nowMs = this.#clock.nowMs();
    const { isPaused, latestMs = 0 } = readQueue(tables, queue);
    if (isPaused) return false;
    return (
      isAhead(latestMs, nowMs) ||
      firstIn(tables, placesOf(queue, 'ready', 0, nowMs)) !== null ||
      firstIn(tables, placesOf(queue, 'leased', 0, nowMs)) !== null
    );
  }

  async #settle({ queue, id, lease }: LeasedJob, verdict: Verdict): Promise<'settled' | 'dead' | 'lease_lost'> {
    const outcome = await this.#write(queue, { do: 'settle', id, lease, verdict });
    this.#tell(queue);
    return outcome as 'settled' | 'dead' | 'lease_lost';
  }

  /**
   * The tables once no lease of the queue is kept that has run out. A disk that takes no write must not keep anybody
   * from looking, so such a lease is then shown as it is kept.
   */
  async #swept(queue: string): Promise<Tables> {
    for (let count = 0; count < SWEEPS_MAX; count++) {
      const tables = this.#store.read();
      const nowMs = this.#clock.nowMs();
      const isSetBack = isAhead(readQueue(tables, queue).latestMs ?? 0, nowMs);
      if (!isSetBack && firstIn(tables, placesOf(queue, 'leased', 0, nowMs)) === null) return tables;
      try {
        await this.#write(queue, { do: 'sweep' });
      } catch {
        break;
      }
    }
    return this.#store.read();
  }

  /** Sends off what was gathered: the store is about to close. */
  flush(): void {
    for (const { leave } of [...this.#gathered.values()]) leave();
  }

  async #write(queue: string, call: JobsCall): Promise<unknown> {
    const gathered = this.#gathering(queue);
    const index = gathered.calls.push(call) - 1;
    return (await gathered.answers)[index];
  }

  /** The calls about the queue that leave at the end of this turn of the event loop. */
  #gathering(queue: string): Gathered {
    const nowMs = this.#clock.nowMs();
    const known = this.#gathered.get(queue);
    if (known !== undefined && known.nowMs === nowMs && known.calls.length < CALLS_PER_TASK_MAX) return known;
    known?.leave();
    const gathered = this.#gather(queue, nowMs);
    this.#gathered.set(queue, gathered);
    setImmediate(gathered.leave);
    return gathered;
  }

  #gather(queue: string, nowMs: number): Gathered {
    const calls: JobsCall[] = [];
    let resolve: (answers: Promise<readonly unknown[]>) => void = () => undefined;
    const answers = new Promise<readonly unknown[]>((settle) => {
      resolve = settle;
    });
    let hasLeft = false;
    const leave = () => {
      if (hasLeft) return;
      hasLeft = true;
      if (this.#gathered.get(queue)?.calls === calls) this.#gathered.delete(queue);
      resolve(this.#store.write({ calls, queue, nowMs, bounds: this.#bounds }));
    };
    return { nowMs, calls, answers, leave };
  }

  /** Whether somebody has just looked and found something to lease. */
  #isLeasing(queue: string): boolean {
    const gathered = this.#gathered.get(queue);
    return gathered !== undefined && gathered.calls.at(-1)?.do === 'lease' && gathered.nowMs === this.#clock.nowMs();
  }

  #tell(queue: string): void {
    for (const onChange of [...(this.#watchers.get(queue) ?? [])]) onChange();
  }
}

function insist(problem: string | null): void {
  if (problem !== null) throw new RangeError(problem);
}
