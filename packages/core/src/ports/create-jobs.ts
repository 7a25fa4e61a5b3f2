import { Refusal } from '@tidemark/protocol';
import {
  acknowledgeAllProblem,
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
  type Postponement,
  type QueueView,
  queueProblem,
  timeProblem,
} from './jobs.ts';

/** What an engine does for its queues. `createJobs` makes the port of it: arguments arrive checked. */
export interface JobEngine {
  /** Adds all jobs or none. Null: the queue would hold more jobs than allowed. */
  enqueue(queue: string, jobs: readonly NewJob[]): Promise<readonly string[] | null>;
  lease(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]>;
  acknowledge(queue: string, jobs: readonly LeasedJob[]): Promise<readonly boolean[]>;
  settle(job: LeasedJob, action: LeaseAction): Promise<'settled' | 'dead' | 'lease_lost'>;
  /** Returns false when there is no such job, or its state does not allow the action. */
  administer(queue: string, action: QueueAction): Promise<boolean>;
  inspect(queue: string, state: JobState, list: { readonly after?: string; readonly limit: number }): Promise<JobPage>;
  find(queue: string, id: string): Promise<JobView | null>;
  describe(queue: string): Promise<QueueView>;
  queues(): Promise<readonly string[]>;
}

/** What the holder of a lease asks for. */
export type LeaseAction =
  | { readonly do: 'renew'; readonly leaseMs: number }
  | { readonly do: 'done' }
  | { readonly do: 'give_back'; readonly later: Postponement | null }
  | { readonly do: 'retry'; readonly atMs: number; readonly reason: string }
  | { readonly do: 'bury'; readonly reason: string };

/** What an operator asks for. */
export type QueueAction =
  | { readonly do: 'pause' | 'resume' }
  | { readonly do: 'revive' | 'remove'; readonly id: string };

const QUEUE_FULL_RETRY_S = 30;

export interface JobBounds {
  readonly jobsPerQueueMax: number;
}

export function createJobs(engine: JobEngine, bounds: JobBounds): Jobs {
  return new CheckedJobs(engine, bounds);
}

/** Makes the port out of an engine: checks arguments, and tells watchers of this process when a job may be due. */
class CheckedJobs implements Jobs {
  readonly #engine: JobEngine;
  readonly #bounds: JobBounds;
  readonly #watchers = new QueueWatchers();

  constructor(engine: JobEngine, bounds: JobBounds) {
    this.#engine = engine;
    this.#bounds = bounds;
  }

  async enqueue(queue: string, job: NewJob): Promise<string> {
    const [id] = await this.enqueueAll(queue, [job]);
    if (id === undefined) throw new Error('a job was enqueued without an id');
    return id;
  }

  async enqueueAll(queue: string, jobs: readonly NewJob[]): Promise<readonly string[]> {
    insist(enqueueProblem(queue, jobs));
    if (jobs.length === 0) return [];
    const ids = await this.#engine.enqueue(queue, jobs);
    if (ids === null) {
      const detail = `the queue ${JSON.stringify(queue)} holds the ${this.#bounds.jobsPerQueueMax} jobs allowed`;
      throw new Refusal('queue_full', detail, [], QUEUE_FULL_RETRY_S);
    }
    this.#watchers.notify(queue);
    return ids;
  }

  async lease(queue: string, leaseMs: number): Promise<LeasedJob | null> {
    const [job] = await this.leaseMany(queue, leaseMs, 1);
    return job ?? null;
  }

  async leaseMany(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]> {
    insist(leaseManyProblem(queue, leaseMs, jobsMax));
    return this.#engine.lease(queue, leaseMs, jobsMax);
  }

  async renew(job: LeasedJob, leaseMs: number): Promise<boolean> {
    insist(leaseProblem(leaseMs));
    return (await this.#settle(job, { do: 'renew', leaseMs })) !== 'lease_lost';
  }

  async acknowledge(job: LeasedJob): Promise<boolean> {
    return (await this.#settle(job, { do: 'done' })) !== 'lease_lost';
  }

  async acknowledgeAll(queue: string, jobs: readonly LeasedJob[]): Promise<readonly boolean[]> {
    insist(acknowledgeAllProblem(queue, jobs));
    if (jobs.length === 0) return [];
    const counted = await this.#engine.acknowledge(queue, jobs);
    this.#watchers.notify(queue);
    return counted;
  }

  async retry(job: LeasedJob, atMs: number, reason: string): Promise<'retrying' | 'dead' | 'lease_lost'> {
    insist(timeProblem(atMs));
    const outcome = await this.#settle(job, { do: 'retry', atMs, reason: keptReason(reason) });
    return outcome === 'settled' ? 'retrying' : outcome;
  }

  async bury(job: LeasedJob, reason: string): Promise<boolean> {
    return (await this.#settle(job, { do: 'bury', reason: keptReason(reason) })) !== 'lease_lost';
  }

  async giveBack(job: LeasedJob, given?: Postponement): Promise<boolean> {
    insist(given === undefined ? null : timeProblem(given.atMs));
    const later = given === undefined ? null : { atMs: given.atMs, reason: keptReason(given.reason) };
    return (await this.#settle(job, { do: 'give_back', later })) !== 'lease_lost';
  }

  async pause(queue: string): Promise<void> {
    await this.#administer(queue, { do: 'pause' });
  }

  async resume(queue: string): Promise<void> {
    await this.#administer(queue, { do: 'resume' });
  }

  revive(queue: string, id: string): Promise<boolean> {
    return this.#administer(queue, { do: 'revive', id });
  }

  remove(queue: string, id: string): Promise<boolean> {
    return this.#administer(queue, { do: 'remove', id });
  }

  async inspect(
    queue: string,
    state: JobState,
    list: { readonly after?: string; readonly limit: number },
  ): Promise<JobPage> {
    insist(queueProblem(queue) ?? listProblem(list.limit));
    return this.#engine.inspect(queue, state, list);
  }

  async find(queue: string, id: string): Promise<JobView | null> {
    insist(queueProblem(queue));
    return this.#engine.find(queue, id);
  }

  async describe(queue: string): Promise<QueueView> {
    insist(queueProblem(queue));
    return this.#engine.describe(queue);
  }

  queues(): Promise<readonly string[]> {
    return this.#engine.queues();
  }

  watch(queue: string, onChange: () => void): () => void {
    return this.#watchers.add(queue, onChange);
  }

  async #settle(job: LeasedJob, action: LeaseAction): Promise<'settled' | 'dead' | 'lease_lost'> {
    const outcome = await this.#engine.settle(job, action);
    this.#watchers.notify(job.queue);
    return outcome;
  }

  async #administer(queue: string, action: QueueAction): Promise<boolean> {
    insist(queueProblem(queue));
    const isDone = await this.#engine.administer(queue, action);
    if (action.do !== 'pause') this.#watchers.notify(queue);
    return isDone;
  }
}

class QueueWatchers {
  readonly #byQueue = new Map<string, Set<() => void>>();

  /** Returns the unsubscribe function. The same function may watch a queue twice. */
  add(queue: string, onChange: () => void): () => void {
    const watchers = this.#byQueue.get(queue) ?? new Set();
    const watcher = () => onChange();
    this.#byQueue.set(queue, watchers.add(watcher));
    return () => {
      watchers.delete(watcher);
      if (watchers.size === 0 && this.#byQueue.get(queue) === watchers) this.#byQueue.delete(queue);
    };
  }

  notify(queue: string): void {
    for (const onChange of [...(this.#byQueue.get(queue) ?? [])]) onChange();
  }
}

function insist(problem: string | null): void {
  if (problem !== null) throw new RangeError(problem);
}
