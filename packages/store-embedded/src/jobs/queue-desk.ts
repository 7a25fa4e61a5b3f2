import { isAhead, LEASE_RAN_OUT, type NewJob } from '@tidemark/core/ports';
import { keyOf } from '../keys.ts';
import type { Tables } from '../tables.ts';
import type { JobsBounds } from './jobs-task.ts';
import { type KeptJob, readJob, type Standing, writeJob } from './kept-job.ts';
import { type KeptQueue, readQueue, writeQueue } from './kept-queue.ts';
import { firstIn, firstOnesIn, headPlace, lineBehind, placeOf, placesOf } from './places.ts';

/** Leases ended in one step; whoever comes next goes on. */
const SWEEP_MAX = 1_000;

/**
 * One queue during one task, in the writer's transaction. Jobs change only through here, so that each stands in exactly
 * one place, every order has exactly one head while it has jobs, and the counts are right.
 */
export class QueueDesk {
  readonly #tables: Tables;
  readonly #queue: string;
  readonly #nowMs: number;
  readonly #bounds: JobsBounds;
  readonly #before: KeptQueue;
  readonly #counts: Record<Standing, number>;
  #isPaused: boolean;
  #latestMs: number;

  constructor(tables: Tables, queue: string, nowMs: number, bounds: JobsBounds) {
    this.#tables = tables;
    this.#queue = queue;
    this.#nowMs = nowMs;
    this.#bounds = bounds;
    this.#before = readQueue(tables, queue);
    this.#counts = { ...this.#before.counts };
    this.#isPaused = this.#before.isPaused;
    this.#latestMs = this.#before.latestMs ?? 0;
  }

  get isPaused(): boolean {
    return this.#isPaused;
  }

  set isPaused(isPaused: boolean) {
    this.#isPaused = isPaused;
  }

  hasRoomFor(jobs: number): boolean {
    const { ready, waiting, leased } = this.#counts;
    return ready + waiting + leased + jobs <= this.#bounds.jobsPerQueueMax;
  }

  /** Null also when the job is of another queue. */
  read(number: number | null): KeptJob | null {
    const job = number === null ? null : readJob(this.#tables, number);
    return job?.queue === this.#queue ? job : null;
  }

  payloadOf(number: number): string {
    const payload = this.#tables.payloads.get(keyOf(number));
    if (payload === undefined) throw new Error(`job ${number} carries nothing`);
    return payload;
  }

  /** The first ones whose time has come. */
  due(jobsMax: number): readonly number[] {
    return firstOnesIn(this.#tables, placesOf(this.#queue, 'ready', 0, this.#nowMs), jobsMax);
  }

  /** Ends the leases that have run out: the job is due again, or dead when that was its last attempt. */
  sweep(): void {
    if (isAhead(this.#latestMs, this.#nowMs)) this.#countAnew();
    const expired = placesOf(this.#queue, 'leased', 0, this.#nowMs);
    for (let count = 0; count < SWEEP_MAX; count++) {
      const number = firstIn(this.#tables, expired);
      const job = this.read(number);
      if (number === null || job === null) return;
      if (job.attempt >= job.attemptsMax) this.bury(number, job, LEASE_RAN_OUT, job.atMs);
      else this.#comeBack(number, job, { dueAtMs: job.atMs });
    }
  }

  add(number: number, { kind, payload, attemptsMax, dueAtMs = this.#nowMs, ...given }: NewJob): void {
    const order = given.order ?? null;
    const standing = order !== null && this.#headOf(order) !== null ? 'waiting' : 'ready';
    const job: KeptJob = {
      queue: this.#queue,
      kind,
      order,
      attempt: 0,
      attemptsMax,
      enqueuedAtMs: this.#nowMs,
      dueAtMs,
      lastReason: null,
      standing,
      atMs: dueAtMs,
      setAtMs: this.#nowMs,
      lease: 0,
    };
    this.#tables.payloads.put(keyOf(number), payload);
    this.#enter(number, job);
    if (order !== null && standing === 'ready') this.#setHead(order, number);
  }

  lease(number: number, job: KeptJob, lease: number, leaseMs: number): KeptJob {
    return this.#move(number, job, {
      standing: 'leased',
      atMs: this.#nowMs + leaseMs,
      setAtMs: this.#nowMs,
      lease,
      attempt: job.attempt + 1,
    });
  }

  renew(number: number, job: KeptJob, leaseMs: number): void {
    this.#move(number, job, { standing: 'leased', atMs: this.#nowMs + leaseMs, setAtMs: this.#nowMs });
  }

  giveBack(number: number, job: KeptJob): void {
    this.#comeBack(number, job, { attempt: job.attempt - 1 });
  }

  postpone(number: number, job: KeptJob, dueAtMs: number, lastReason: string): void {
    this.#comeBack(number, job, { dueAtMs, lastReason });
  }

  bury(number: number, job: KeptJob, lastReason: string, diedAtMs = this.#nowMs): void {
    this.#move(number, job, { standing: 'dead', atMs: diedAtMs, lease: 0, lastReason });
    this.#freeLine(number, job);
    if (this.#counts.dead > this.#bounds.deadPerQueueMax) this.#forgetFirstDead();
  }

  revive(number: number, job: KeptJob): void {
    const standing = job.order === null || this.#yieldsTo(number, job.order) ? 'ready' : 'waiting';
    this.#move(number, job, {
      ...{ standing, atMs: this.#nowMs, dueAtMs: this.#nowMs, setAtMs: this.#nowMs },
      attempt: 0,
    });
    if (job.order !== null && standing === 'ready') this.#setHead(job.order, number);
  }

  forget(number: number, job: KeptJob): void {
    this.#leave(number, job);
    this.#tables.jobs.remove(keyOf(number));
    this.#tables.payloads.remove(keyOf(number));
    this.#freeLine(number, job);
  }

  /** Writes down what became of the queue, if anything did. */
  close(): void {
    const kept: KeptQueue = { isPaused: this.#isPaused, counts: this.#counts, latestMs: this.#latestMs };
    if (JSON.stringify(kept) !== JSON.stringify(this.#before)) writeQueue(this.#tables, this.#queue, kept);
  }

  /**
   * A job that was leased is ready again, and still the head of its line: those behind it go on waiting. Only one that
   * was enqueued earlier, and was revived meanwhile, goes before it.
   */
  #comeBack(number: number, job: KeptJob, change: Partial<KeptJob>): void {
    const dueAtMs = change.dueAtMs ?? job.dueAtMs;
    const setAtMs = this.#nowMs;
    const ready = this.#move(number, job, { ...change, standing: 'ready', atMs: dueAtMs, dueAtMs, setAtMs, lease: 0 });
    if (job.order === null) return;
    const first = firstIn(this.#tables, lineBehind(this.#queue, job.order));
    if (first === null || first > number) return;
    this.#move(number, ready, { standing: 'waiting' });
    this.#freeLine(number, job);
  }

  /**
   * Jobs were given their times by a clock that has been set back since: whatever each of them waits for is waited for
   * from now on, for as long. This looks at all jobs of the queue, once.
   */
  #countAnew(): void {
    this.#latestMs = this.#nowMs;
    for (const standing of ['leased', 'ready', 'waiting'] as const) {
      const numbers = firstOnesIn(this.#tables, placesOf(this.#queue, standing), this.#counts[standing]);
      for (const number of numbers) {
        const job = this.read(number);
        if (job !== null && isAhead(job.setAtMs ?? job.enqueuedAtMs, this.#nowMs)) this.#countJobAnew(number, job);
      }
    }
  }

  #countJobAnew(number: number, job: KeptJob): void {
    const nowMs = this.#nowMs;
    const { standing, atMs, setAtMs = job.enqueuedAtMs } = job;
    const isLeased = standing === 'leased';
    const dueAtMs = nowMs + (isLeased ? 0 : Math.max(0, job.dueAtMs - setAtMs));
    this.#move(number, job, { dueAtMs, atMs: isLeased ? nowMs + atMs - setAtMs : dueAtMs, setAtMs: nowMs });
  }

  #move(number: number, job: KeptJob, change: Partial<KeptJob>): KeptJob {
    this.#leave(number, job);
    const moved = { ...job, ...change };
    this.#enter(number, moved);
    return moved;
  }

  #enter(number: number, job: KeptJob): void {
    writeJob(this.#tables, number, job);
    this.#tables.jobPlaces.put(placeOf(number, job), '');
    this.#counts[job.standing]++;
    this.#latestMs = Math.max(this.#latestMs, this.#nowMs);
  }

  #leave(number: number, job: KeptJob): void {
    this.#tables.jobPlaces.remove(placeOf(number, job));
    this.#counts[job.standing]--;
  }

  #headOf(order: string): number | null {
    const text = this.#tables.jobPlaces.get(headPlace(this.#queue, order));
    return text === undefined ? null : Number(text);
  }

  #setHead(order: string, number: number): void {
    this.#tables.jobPlaces.put(headPlace(this.#queue, order), String(number));
  }

  /** The next of the order takes the place of a head that has gone. */
  #freeLine(number: number, { order }: KeptJob): void {
    if (order === null || this.#headOf(order) !== number) return;
    const next = firstIn(this.#tables, lineBehind(this.#queue, order));
    const job = this.read(next);
    if (next === null || job === null) {
      this.#tables.jobPlaces.remove(headPlace(this.#queue, order));
      return;
    }
    this.#move(next, job, { standing: 'ready', atMs: job.dueAtMs });
    this.#setHead(order, next);
  }

  /** Whether the job may be the head of its order now. A later one that nobody has leased steps back for it. */
  #yieldsTo(number: number, order: string): boolean {
    const head = this.#headOf(order);
    const job = this.read(head);
    if (head === null || job === null) return true;
    if (job.standing === 'leased' || head < number) return false;
    this.#move(head, job, { standing: 'waiting' });
    return true;
  }

  #forgetFirstDead(): void {
    const number = firstIn(this.#tables, placesOf(this.#queue, 'dead'));
    const job = this.read(number);
    if (number !== null && job !== null) this.forget(number, job);
  }
}
