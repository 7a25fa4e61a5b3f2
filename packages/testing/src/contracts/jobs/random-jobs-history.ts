import assert from 'node:assert/strict';
import type { Rng } from '@tidemark/client-testing';
import { JOB_STATES, type Jobs, type LeasedJob, type NewJob } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { SettableClock } from '../../kit/settable-clock.ts';

const QUEUES = ['one', 'two'] as const;
const ORDERS = [undefined, undefined, 'a', 'b'] as const;
const HELD_MAX = 12;
const DAY_MS = 86_400_000;

/** The same job or lease in both engines. */
interface Pair<T> {
  readonly left: T;
  readonly right: T;
}

/**
 * Calls two engines in the same way and compares their answers. Ids and leases differ between engines, so they are
 * compared by the jobs they stand for.
 */
export class RandomJobsHistory {
  readonly #engines: Pair<Jobs>;
  readonly #clock: SettableClock;
  readonly #rng: Rng;
  readonly #ids: Pair<string>[] = [];
  /** Valid and ended leases, which an engine must tell apart. */
  #held: Pair<LeasedJob>[] = [];

  constructor(engines: Pair<Jobs>, clock: SettableClock, rng: Rng) {
    this.#engines = engines;
    this.#clock = clock;
    this.#rng = rng;
  }

  async run(steps: number): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await this.#step();
      if (step % 10 === 9) await this.#compare();
    }
    await this.#compare();
  }

  async #step(): Promise<void> {
    const roll = this.#rng.below(100);
    if (roll < 25) return this.#enqueue();
    if (roll < 55) return this.#lease();
    if (roll < 85) return this.#settle();
    if (roll < 93) return this.#operate();
    if (roll < 98) this.#clock.advance(this.#rng.pick([0, 1, 5, 20, 100]));
    // Clocks are also set back.
    else this.#clock.advance(this.#rng.pick([DAY_MS, -DAY_MS, 30_000, -30_000]));
  }

  async #enqueue(): Promise<void> {
    const queue = this.#rng.pick(QUEUES);
    const jobs = Array.from({ length: this.#rng.between(1, 4) }, () => this.#drawJob());
    const { left, right } = await this.#both((engine) => engine.enqueueAll(queue, jobs).catch(codeOf));
    if (typeof left === 'string' || typeof right === 'string') return assert.equal(left, right);
    for (const [index, id] of left.entries()) this.#ids.push({ left: id, right: right[index] ?? '' });
  }

  #drawJob(): NewJob {
    // Picks an index, because `pick` does not return undefined.
    const order = ORDERS[this.#rng.below(ORDERS.length)];
    return {
      kind: this.#rng.pick(['ping', 'query']),
      payload: `payload ${this.#rng.below(1_000)}`,
      attemptsMax: this.#rng.between(1, 3),
      ...(order === undefined ? {} : { order }),
      ...(this.#rng.chance(40) ? { dueAtMs: this.#clock.nowMs() + this.#rng.between(-20, 40) } : {}),
    };
  }

  async #lease(): Promise<void> {
    const queue = this.#rng.pick(QUEUES);
    const leaseMs = this.#rng.pick([1, 10, 50]);
    if (this.#rng.chance(30)) return this.#leaseMany(queue, leaseMs, this.#rng.between(1, 4));
    const { left, right } = await this.#both((engine) => engine.lease(queue, leaseMs));
    assert.deepEqual(left && this.#plain('left', left), right && this.#plain('right', right));
    if (left !== null && right !== null) this.#held = [...this.#held, { left, right }].slice(-HELD_MAX);
  }

  async #leaseMany(queue: string, leaseMs: number, jobsMax: number): Promise<void> {
    const { left, right } = await this.#both((engine) => engine.leaseMany(queue, leaseMs, jobsMax));
    assert.deepEqual(
      left.map((job) => this.#plain('left', job)),
      right.map((job) => this.#plain('right', job)),
    );
    const pairs = left.flatMap((job, index) => {
      const other = right[index];
      return other === undefined ? [] : [{ left: job, right: other }];
    });
    this.#held = [...this.#held, ...pairs].slice(-HELD_MAX);
  }

  #plain(side: keyof Pair<string>, { lease: _lease, id, ...job }: LeasedJob) {
    return { ...job, handle: this.#handle(side, id) };
  }

  #handle(side: keyof Pair<string>, id: string): number {
    return this.#ids.findIndex((pair) => pair[side] === id);
  }

  async #settle(): Promise<void> {
    if (this.#held.length === 0) return;
    if (this.#rng.chance(20)) return this.#acknowledgeAll(this.#rng.pick(QUEUES));
    const held = this.#rng.pick(this.#held);
    const atMs = this.#clock.nowMs() + this.#rng.below(30);
    const verdict = this.#rng.pick<(engine: Jobs, job: LeasedJob) => Promise<unknown>>([
      (engine, job) => engine.acknowledge(job),
      (engine, job) => engine.acknowledge(job),
      (engine, job) => engine.renew(job, 20),
      (engine, job) => engine.retry(job, atMs, 'again'),
      (engine, job) => engine.bury(job, 'never'),
      (engine, job) => engine.giveBack(job, job.attempt === 2 ? { atMs, reason: 'later' } : undefined),
    ]);
    await this.#assertSame((engine, side) => verdict(engine, held[side]));
  }

  async #acknowledgeAll(queue: string): Promise<void> {
    const held = this.#held.filter(({ left }) => left.queue === queue && this.#rng.chance(50));
    await this.#assertSame((engine, side) =>
      engine.acknowledgeAll(
        queue,
        held.map((pair) => pair[side]),
      ),
    );
  }

  async #operate(): Promise<void> {
    const queue = this.#rng.pick(QUEUES);
    if (this.#rng.chance(40)) return this.#assertSame((engine) => engine.resume(queue));
    if (this.#rng.chance(15)) return this.#assertSame((engine) => engine.pause(queue));
    if (this.#ids.length === 0) return;
    const id = this.#rng.pick(this.#ids);
    const isRevival = this.#rng.chance(60);
    await this.#assertSame((engine, side) => engine[isRevival ? 'revive' : 'remove'](queue, id[side]));
  }

  async #compare(): Promise<void> {
    await this.#assertSame((engine) => engine.queues());
    for (const queue of QUEUES) {
      await this.#assertSame((engine) => engine.describe(queue));
      for (const state of JOB_STATES) {
        await this.#assertSame(async (engine, side) => {
          const { jobs, next } = await engine.inspect(queue, state, { limit: 1_000 });
          const rows = jobs.map(({ id, ...job }) => ({ ...job, handle: this.#handle(side, id) }));
          // The port does not define the order of waiting jobs.
          if (state === 'waiting') rows.sort((one, other) => one.handle - other.handle);
          return { rows, next };
        });
      }
    }
  }

  async #assertSame(call: (engine: Jobs, side: keyof Pair<Jobs>) => Promise<unknown>): Promise<void> {
    const { left, right } = await this.#both(call);
    assert.deepEqual(left, right);
  }

  async #both<T>(call: (engine: Jobs, side: keyof Pair<Jobs>) => Promise<T>): Promise<Pair<T>> {
    return { left: await call(this.#engines.left, 'left'), right: await call(this.#engines.right, 'right') };
  }
}

function codeOf(error: unknown): string {
  if (error instanceof Refusal) return error.code;
  throw error;
}
