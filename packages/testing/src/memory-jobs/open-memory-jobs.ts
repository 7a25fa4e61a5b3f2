import { compareUtf8 } from '@tidemark/client-testing';
import {
  acknowledgeAllProblem,
  type Clock,
  enqueueProblem,
  isAhead,
  JOB_STATES,
  type JobPage,
  type JobState,
  type Jobs,
  type JobView,
  keptReason,
  LEASE_RAN_OUT,
  LEASED_UNITS,
  type LeasedJob,
  leaseManyProblem,
  leaseProblem,
  listProblem,
  type NewJob,
  type Postponement,
  type QueueView,
  queueProblem,
  timeProblem,
} from '@tidemark/core';
import { DEAD_JOBS_PER_QUEUE_MAX, JOBS_PER_QUEUE_MAX, Refusal } from '@tidemark/protocol';
import { type MemoryJob, rankOf, stateOf, viewOf } from './memory-job.ts';

export interface MemoryJobsOptions {
  readonly clock: Clock;
  readonly jobsPerQueueMax?: number;
  readonly deadPerQueueMax?: number;
}

const QUEUE_FULL_RETRY_S = 30;

export function openMemoryJobs(options: MemoryJobsOptions): Jobs {
  return new MemoryJobs(options);
}

/**
 * Opens the jobs port over one plain list, as the reference for every other engine. It scans the whole list for every
 * call, so it is simple and slow.
 */
class MemoryJobs implements Jobs {
  readonly #clock: Clock;
  readonly #jobsMax: number;
  readonly #deadMax: number;
  readonly #paused = new Set<string>();
  readonly #watchers = new Map<string, Set<() => void>>();
  #jobs: MemoryJob[] = [];
  #lastNumber = 0;
  #lastLease = 0;

  constructor({ clock, jobsPerQueueMax, deadPerQueueMax }: MemoryJobsOptions) {
    this.#clock = clock;
    this.#jobsMax = jobsPerQueueMax ?? JOBS_PER_QUEUE_MAX;
    this.#deadMax = deadPerQueueMax ?? DEAD_JOBS_PER_QUEUE_MAX;
  }

  async enqueue(queue: string, job: NewJob): Promise<string> {
    const [id] = await this.enqueueAll(queue, [job]);
    if (id === undefined) throw new Error('a job was enqueued without an id');
    return id;
  }

  async enqueueAll(queue: string, jobs: readonly NewJob[]): Promise<readonly string[]> {
    insist(enqueueProblem(queue, jobs));
    const alive = this.#of(queue).filter(({ diedAtMs }) => diedAtMs === null).length;
    if (alive + jobs.length > this.#jobsMax) throw new Refusal('queue_full', 'no room', [], QUEUE_FULL_RETRY_S);
    const added = jobs.map((job) => this.#add(queue, job));
    if (added.length > 0) this.#tell(queue);
    return added.map(({ number }) => String(number));
  }

  async lease(queue: string, leaseMs: number): Promise<LeasedJob | null> {
    insist(queueProblem(queue) ?? leaseProblem(leaseMs));
    const [job] = this.#paused.has(queue) ? [] : this.#in(queue, 'due');
    return job === undefined ? null : this.#hold(job, leaseMs);
  }

  async leaseMany(queue: string, leaseMs: number, jobsMax: number): Promise<readonly LeasedJob[]> {
    insist(leaseManyProblem(queue, leaseMs, jobsMax));
    const leased: LeasedJob[] = [];
    let units = 0;
    for (const job of this.#paused.has(queue) ? [] : this.#in(queue, 'due').slice(0, jobsMax)) {
      if (units > LEASED_UNITS) break;
      units += job.payload.length;
      leased.push(this.#hold(job, leaseMs));
    }
    return leased;
  }

  #hold(job: MemoryJob, leaseMs: number): LeasedJob {
    job.attempt++;
    const lease = String(++this.#lastLease);
    job.holder = this.#holder(lease, leaseMs);
    const { number, queue, kind, payload, attempt, attemptsMax } = job;
    return { id: String(number), queue, kind, payload, attempt, attemptsMax, lease };
  }

  #holder(lease: string, leaseMs: number): NonNullable<MemoryJob['holder']> {
    const sinceMs = this.#clock.nowMs();
    return { lease, sinceMs, untilMs: sinceMs + leaseMs };
  }

  async renew(job: LeasedJob, leaseMs: number): Promise<boolean> {
    insist(leaseProblem(leaseMs));
    return this.#settle(job, (held) => {
      held.holder = this.#holder(job.lease, leaseMs);
    });
  }

  async acknowledge(job: LeasedJob): Promise<boolean> {
    return this.#settle(job, (held) => this.#forget(held));
  }

  async acknowledgeAll(queue: string, jobs: readonly LeasedJob[]): Promise<readonly boolean[]> {
    insist(acknowledgeAllProblem(queue, jobs));
    return jobs.map((job) => this.#settle(job, (held) => this.#forget(held)));
  }

  async retry(job: LeasedJob, atMs: number, reason: string): Promise<'retrying' | 'dead' | 'lease_lost'> {
    insist(timeProblem(atMs));
    let isDead = false;
    const isHeld = this.#settle(job, (held) => {
      isDead = held.attempt >= held.attemptsMax;
      if (isDead) this.#bury(held, reason, this.#clock.nowMs());
      else {
        const dueSetAtMs = this.#clock.nowMs();
        Object.assign(held, { holder: null, dueAtMs: atMs, dueSetAtMs, lastReason: keptReason(reason) });
      }
    });
    if (!isHeld) return 'lease_lost';
    return isDead ? 'dead' : 'retrying';
  }

  async bury(job: LeasedJob, reason: string): Promise<boolean> {
    return this.#settle(job, (held) => this.#bury(held, reason, this.#clock.nowMs()));
  }

  async giveBack(job: LeasedJob, later?: Postponement): Promise<boolean> {
    insist(later === undefined ? null : timeProblem(later.atMs));
    return this.#settle(job, (held) => {
      held.holder = null;
      held.dueSetAtMs = this.#clock.nowMs();
      held.attempt--;
      if (later !== undefined) Object.assign(held, { dueAtMs: later.atMs, lastReason: keptReason(later.reason) });
    });
  }

  async pause(queue: string): Promise<void> {
    insist(queueProblem(queue));
    this.#of(queue);
    this.#paused.add(queue);
  }

  async resume(queue: string): Promise<void> {
    insist(queueProblem(queue));
    this.#of(queue);
    this.#paused.delete(queue);
    this.#tell(queue);
  }

  async revive(queue: string, id: string): Promise<boolean> {
    insist(queueProblem(queue));
    const job = this.#find(queue, id);
    if (job === undefined || job.diedAtMs === null) return false;
    const nowMs = this.#clock.nowMs();
    Object.assign(job, { diedAtMs: null, attempt: 0, dueAtMs: nowMs, dueSetAtMs: nowMs });
    this.#tell(queue);
    return true;
  }

  async remove(queue: string, id: string): Promise<boolean> {
    insist(queueProblem(queue));
    const job = this.#find(queue, id);
    if (job === undefined || job.holder !== null) return false;
    this.#forget(job);
    this.#tell(queue);
    return true;
  }

  async inspect(
    queue: string,
    state: JobState,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<JobPage> {
    insist(queueProblem(queue) ?? listProblem(limit));
    const rows = this.#in(queue, state).map((job) => ({ job, place: [rankOf(job, state), job.number] as const }));
    const from = after === undefined ? null : positionFrom(after);
    const left = rows.filter(({ place }) => from === null || comparePositions(place, from) > 0);
    const last = left.length > limit ? left[limit - 1] : undefined;
    return {
      jobs: left.slice(0, limit).map(({ job }) => viewOf(job, state)),
      next: last === undefined ? null : last.place.join('.'),
    };
  }

  async find(queue: string, id: string): Promise<JobView | null> {
    insist(queueProblem(queue));
    const job = this.#find(queue, id);
    return job === undefined ? null : viewOf(job, this.#stateOf(job));
  }

  async describe(queue: string): Promise<QueueView> {
    insist(queueProblem(queue));
    const counts = Object.fromEntries(JOB_STATES.map((state) => [state, this.#in(queue, state).length]));
    const nowMs = this.#clock.nowMs();
    const lagMs = nowMs - (this.#in(queue, 'due')[0]?.dueAtMs ?? nowMs);
    return { queue, isPaused: this.#paused.has(queue), counts: counts as Record<JobState, number>, lagMs };
  }

  async queues(): Promise<readonly string[]> {
    return [...new Set([...this.#jobs.map(({ queue }) => queue), ...this.#paused])].sort(compareUtf8);
  }

  watch(queue: string, onChange: () => void): () => void {
    const watchers = this.#watchers.get(queue) ?? new Set();
    const watcher = () => onChange();
    this.#watchers.set(queue, watchers.add(watcher));
    return () => void watchers.delete(watcher);
  }

  #add(queue: string, { kind, payload, attemptsMax, order, dueAtMs }: NewJob): MemoryJob {
    const nowMs = this.#clock.nowMs();
    const job: MemoryJob = {
      number: ++this.#lastNumber,
      queue,
      kind,
      payload,
      order: order ?? null,
      attemptsMax,
      enqueuedAtMs: nowMs,
      attempt: 0,
      dueAtMs: dueAtMs ?? nowMs,
      dueSetAtMs: nowMs,
      lastReason: null,
      holder: null,
      diedAtMs: null,
    };
    this.#jobs.push(job);
    return job;
  }

  /** Ends expired leases and returns the jobs of a queue. */
  #of(queue: string): readonly MemoryJob[] {
    const nowMs = this.#clock.nowMs();
    for (const job of this.#jobs) if (job.queue === queue) countAnew(job, nowMs);
    const expired = this.#jobs.filter((job) => job.queue === queue && (job.holder?.untilMs ?? Infinity) <= nowMs);
    for (const job of sorted(expired, 'leased')) {
      const endMs = job.holder?.untilMs ?? nowMs;
      if (job.attempt >= job.attemptsMax) this.#bury(job, LEASE_RAN_OUT, endMs);
      else Object.assign(job, { holder: null, dueAtMs: endMs, dueSetAtMs: nowMs });
    }
    return this.#jobs.filter((job) => job.queue === queue);
  }

  #in(queue: string, state: JobState): readonly MemoryJob[] {
    const all = this.#of(queue);
    const nowMs = this.#clock.nowMs();
    const found = all.filter((job) => stateOf(job, all, nowMs) === state);
    return sorted(found, state);
  }

  #find(queue: string, id: string): MemoryJob | undefined {
    return this.#of(queue).find(({ number }) => String(number) === id);
  }

  #stateOf(job: MemoryJob): JobState {
    return stateOf(job, this.#of(job.queue), this.#clock.nowMs());
  }

  /** Performs a change of the lease holder, if the lease is still valid. */
  #settle({ queue, id, lease }: LeasedJob, act: (held: MemoryJob) => void): boolean {
    const job = this.#find(queue, id);
    if (job === undefined || job.holder?.lease !== lease) return false;
    act(job);
    this.#tell(queue);
    return true;
  }

  #bury(job: MemoryJob, reason: string, diedAtMs: number): void {
    Object.assign(job, { holder: null, diedAtMs, lastReason: keptReason(reason) });
    const dead = this.#jobs.filter((other) => other.queue === job.queue && other.diedAtMs !== null);
    const [first] = sorted(dead, 'dead');
    if (dead.length > this.#deadMax && first !== undefined) this.#forget(first);
  }

  #forget(gone: MemoryJob): void {
    this.#jobs = this.#jobs.filter((job) => job !== gone);
  }

  #tell(queue: string): void {
    for (const onChange of [...(this.#watchers.get(queue) ?? [])]) onChange();
  }
}

/** After the clock was set back, a job waits from now on for as long as it had been delayed. */
function countAnew(job: MemoryJob, nowMs: number): void {
  const { holder, dueAtMs, dueSetAtMs } = job;
  if (job.diedAtMs !== null || !isAhead(holder?.sinceMs ?? dueSetAtMs, nowMs)) return;
  if (holder === null) Object.assign(job, { dueAtMs: nowMs + Math.max(0, dueAtMs - dueSetAtMs), dueSetAtMs: nowMs });
  else {
    const { lease, sinceMs, untilMs } = holder;
    job.holder = { lease, sinceMs: nowMs, untilMs: nowMs + untilMs - sinceMs };
    job.dueAtMs = nowMs;
  }
}

type JobPosition = readonly [rank: number, number: number];

function sorted(jobs: readonly MemoryJob[], state: JobState): readonly MemoryJob[] {
  return [...jobs].sort((left, right) =>
    comparePositions([rankOf(left, state), left.number], [rankOf(right, state), right.number]),
  );
}

function comparePositions(left: JobPosition, right: JobPosition): number {
  return left[0] - right[0] || left[1] - right[1];
}

function positionFrom(text: string): JobPosition {
  const [, rank, number] = /^(\d+)\.(\d+)$/.exec(text) ?? [];
  if (rank === undefined) throw new Refusal('invalid_value', 'that is no place in this listing of jobs');
  return [Number(rank), Number(number)];
}

function insist(problem: string | null): void {
  if (problem !== null) throw new RangeError(problem);
}
