import { isAhead, LEASE_RAN_OUT, type NewJob, type Postponement } from '@tidemark/core/ports';
import { keyOf } from '../keys.ts';
import type { Tables } from '../tables.ts';
import { firstNumberIn, firstNumbersIn, headKey, jobKey, keysInState, waitersOf } from './job-keys.ts';
import { type JobRow, type QueueRow, readJob, readQueue, type StoredState, writeJob, writeQueue } from './job-rows.ts';
import type { JobsBounds } from './jobs-task.ts';

/** Expired leases that one task ends; the next task ends more. */
const SWEEP_MAX = 1_000;

/**
 * Changes one queue during one task, in the writer's transaction. All changes of jobs go through this class. It makes sure
 * that each job has exactly one key in the index, that every order with jobs has exactly one head, and that the counts
 * are right.
 */
export class QueueAdmin {
  readonly #tables: Tables;
  readonly #queue: string;
  readonly #nowMs: number;
  readonly #bounds: JobsBounds;
  readonly #before: QueueRow;
  readonly #counts: Record<StoredState, number>;
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

  /** Returns null also for a job of another queue. */
  read(number: number | null): JobRow | null {
    const job = number === null ? null : readJob(this.#tables, number);
    return job?.queue === this.#queue ? job : null;
  }

  payloadOf(number: number): string {
    const payload = this.#tables.payloads.get(keyOf(number));
    if (payload === undefined) throw new Error(`job ${number} has no payload; run verify`);
    return payload;
  }

  /** Returns the numbers of the first jobs that are due. */
  due(jobsMax: number): readonly number[] {
    return firstNumbersIn(this.#tables, keysInState(this.#queue, 'ready', 0, this.#nowMs), jobsMax);
  }

  /** Ends expired leases: the job is due again, or dead when that was its last attempt. */
  sweep(): void {
    if (isAhead(this.#latestMs, this.#nowMs)) this.#rebaseTimes();
    const expired = keysInState(this.#queue, 'leased', 0, this.#nowMs);
    for (let count = 0; count < SWEEP_MAX; count++) {
      const number = firstNumberIn(this.#tables, expired);
      const job = this.read(number);
      if (number === null || job === null) return;
      if (job.attempt >= job.attemptsMax) this.bury(number, job, LEASE_RAN_OUT, job.atMs);
      else this.#release(number, job, { dueAtMs: job.atMs });
    }
  }

  add(number: number, { kind, payload, attemptsMax, dueAtMs = this.#nowMs, ...given }: NewJob): void {
    const order = given.order ?? null;
    const state = order !== null && this.#headOf(order) !== null ? 'waiting' : 'ready';
    const job: JobRow = {
      queue: this.#queue,
      kind,
      order,
      attempt: 0,
      attemptsMax,
      enqueuedAtMs: this.#nowMs,
      dueAtMs,
      lastReason: null,
      state,
      atMs: dueAtMs,
      setAtMs: this.#nowMs,
      lease: 0,
    };
    this.#tables.payloads.put(keyOf(number), payload);
    this.#insert(number, job);
    if (order !== null && state === 'ready') this.#setHead(order, number);
  }

  lease(number: number, job: JobRow, lease: number, leaseMs: number): JobRow {
    return this.#move(number, job, {
      state: 'leased',
      atMs: this.#nowMs + leaseMs,
      setAtMs: this.#nowMs,
      lease,
      attempt: job.attempt + 1,
    });
  }

  renew(number: number, job: JobRow, leaseMs: number): void {
    this.#move(number, job, { state: 'leased', atMs: this.#nowMs + leaseMs, setAtMs: this.#nowMs });
  }

  giveBack(number: number, job: JobRow, later: Postponement | null): void {
    const due = later === null ? {} : { dueAtMs: later.atMs, lastReason: later.reason };
    this.#release(number, job, { attempt: job.attempt - 1, ...due });
  }

  postpone(number: number, job: JobRow, dueAtMs: number, lastReason: string): void {
    this.#release(number, job, { dueAtMs, lastReason });
  }

  bury(number: number, job: JobRow, lastReason: string, diedAtMs = this.#nowMs): void {
    this.#move(number, job, { state: 'dead', atMs: diedAtMs, lease: 0, lastReason });
    this.#promoteNext(number, job);
    if (this.#counts.dead > this.#bounds.deadPerQueueMax) this.#removeOldestDead();
  }

  revive(number: number, job: JobRow): void {
    const state = job.order === null || this.#canBeHead(number, job.order) ? 'ready' : 'waiting';
    this.#move(number, job, {
      ...{ state, atMs: this.#nowMs, dueAtMs: this.#nowMs, setAtMs: this.#nowMs },
      attempt: 0,
    });
    if (job.order !== null && state === 'ready') this.#setHead(job.order, number);
  }

  remove(number: number, job: JobRow): void {
    this.#removeFromIndex(number, job);
    this.#tables.jobs.remove(keyOf(number));
    this.#tables.payloads.remove(keyOf(number));
    this.#promoteNext(number, job);
  }

  /** Writes the row of the queue if it changed. */
  close(): void {
    const row: QueueRow = { isPaused: this.#isPaused, counts: this.#counts, latestMs: this.#latestMs };
    if (JSON.stringify(row) !== JSON.stringify(this.#before)) writeQueue(this.#tables, this.#queue, row);
  }

  /**
   * Makes a leased job ready again. It stays the head of its order, unless a job that was enqueued earlier was revived
   * meanwhile: then that one becomes the head.
   */
  #release(number: number, job: JobRow, change: Partial<JobRow>): void {
    const dueAtMs = change.dueAtMs ?? job.dueAtMs;
    const setAtMs = this.#nowMs;
    const ready = this.#move(number, job, { ...change, state: 'ready', atMs: dueAtMs, dueAtMs, setAtMs, lease: 0 });
    if (job.order === null) return;
    const first = firstNumberIn(this.#tables, waitersOf(this.#queue, job.order));
    if (first === null || first > number) return;
    this.#move(number, ready, { state: 'waiting' });
    this.#promoteNext(number, job);
  }

  /**
   * Corrects all jobs of the queue after the clock was set back: each waits from now on for as long as it was to wait
   * when its time was set.
   */
  #rebaseTimes(): void {
    this.#latestMs = this.#nowMs;
    for (const state of ['leased', 'ready', 'waiting'] as const) {
      const numbers = firstNumbersIn(this.#tables, keysInState(this.#queue, state), this.#counts[state]);
      for (const number of numbers) {
        const job = this.read(number);
        if (job !== null && isAhead(job.setAtMs ?? job.enqueuedAtMs, this.#nowMs)) this.#rebaseJob(number, job);
      }
    }
  }

  #rebaseJob(number: number, job: JobRow): void {
    const nowMs = this.#nowMs;
    const { state, atMs, setAtMs = job.enqueuedAtMs } = job;
    const isLeased = state === 'leased';
    const dueAtMs = nowMs + (isLeased ? 0 : Math.max(0, job.dueAtMs - setAtMs));
    this.#move(number, job, { dueAtMs, atMs: isLeased ? nowMs + atMs - setAtMs : dueAtMs, setAtMs: nowMs });
  }

  #move(number: number, job: JobRow, change: Partial<JobRow>): JobRow {
    this.#removeFromIndex(number, job);
    const moved = { ...job, ...change };
    this.#insert(number, moved);
    return moved;
  }

  #insert(number: number, job: JobRow): void {
    writeJob(this.#tables, number, job);
    this.#tables.jobIndex.put(jobKey(number, job), '');
    this.#counts[job.state]++;
    this.#latestMs = Math.max(this.#latestMs, this.#nowMs);
  }

  #removeFromIndex(number: number, job: JobRow): void {
    this.#tables.jobIndex.remove(jobKey(number, job));
    this.#counts[job.state]--;
  }

  #headOf(order: string): number | null {
    const text = this.#tables.jobIndex.get(headKey(this.#queue, order));
    return text === undefined ? null : Number(text);
  }

  #setHead(order: string, number: number): void {
    this.#tables.jobIndex.put(headKey(this.#queue, order), String(number));
  }

  /** Makes the next job of an order its head, when the job was the head. */
  #promoteNext(number: number, { order }: JobRow): void {
    if (order === null || this.#headOf(order) !== number) return;
    const next = firstNumberIn(this.#tables, waitersOf(this.#queue, order));
    const job = this.read(next);
    if (next === null || job === null) {
      this.#tables.jobIndex.remove(headKey(this.#queue, order));
      return;
    }
    this.#move(next, job, { state: 'ready', atMs: job.dueAtMs });
    this.#setHead(order, next);
  }

  /** Returns whether the job can be the head of its order now. A later head that is not leased goes back to waiting. */
  #canBeHead(number: number, order: string): boolean {
    const head = this.#headOf(order);
    const job = this.read(head);
    if (head === null || job === null) return true;
    if (job.state === 'leased' || head < number) return false;
    this.#move(head, job, { state: 'waiting' });
    return true;
  }

  #removeOldestDead(): void {
    const number = firstNumberIn(this.#tables, keysInState(this.#queue, 'dead'));
    const job = this.read(number);
    if (number !== null && job !== null) this.remove(number, job);
  }
}
