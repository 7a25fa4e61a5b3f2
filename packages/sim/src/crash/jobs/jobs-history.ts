import { type Line, nameOf, ORDERS, positionOf } from './line.ts';

/** What is known of a job from the lines of the workers. */
interface JobRecord {
  enqueued: boolean;
  runs: number;
  /** The worker began to acknowledge the job; the store may have taken it or not. */
  ackBegun: boolean;
  acked: boolean;
}

/** Collects the lines of all workers, and the problems in them. */
export class JobsHistory {
  readonly problems: string[] = [];
  readonly #jobs = new Map<string, JobRecord>();
  /** Jobs enqueued together: the store has all of them or none. */
  readonly #batches: (readonly string[])[] = [];

  /** Returns the number of the next job of each order. */
  next(): readonly number[] {
    return ORDERS.map((order) => {
      const numbers = [...this.#jobs.keys()].map(positionOf).filter((position) => position.order === order);
      return Math.max(-1, ...numbers.map(({ number }) => number)) + 1;
    });
  }

  count(what: 'enqueued' | 'acked'): number {
    return [...this.#jobs.values()].filter((job) => job[what]).length;
  }

  /** How many jobs ran more than once, because a worker was killed or gave them back. */
  get repeated(): number {
    return [...this.#jobs.values()].filter(({ runs }) => runs > 1).length;
  }

  add(line: Line): void {
    switch (line.say) {
      case 'enqueue':
        this.#batches.push(line.names);
        for (const name of line.names)
          this.#jobs.set(name, { enqueued: false, runs: 0, ackBegun: false, acked: false });
        return;
      case 'enqueued':
        for (const name of line.names) this.#job(name).enqueued = true;
        return;
      case 'run':
        this.#run(line.name);
        return;
      case 'ack':
        this.#job(line.name).ackBegun = true;
        return;
      case 'acked':
        this.#job(line.name).acked = true;
        return;
      case 'failed':
        this.problems.push(`a worker failed: ${line.reason}`);
    }
  }

  /** Checks everything at the end. `left` are the jobs still in the store, in the order in which they were leased. */
  finish(left: readonly string[]): void {
    for (const name of left) {
      this.#run(name);
      this.#job(name).ackBegun = true;
    }
    for (const [name, { enqueued, runs }] of this.#jobs) {
      if (enqueued && runs === 0) this.problems.push(`${name} was acknowledged as enqueued and never ran`);
    }
    this.#checkForLost(new Set(left));
    this.#checkForTornBatches();
  }

  #checkForLost(left: ReadonlySet<string>): void {
    for (const [name, { enqueued, ackBegun }] of this.#jobs) {
      if (enqueued && !ackBegun && !left.has(name))
        this.problems.push(`${name} is gone, but no worker acknowledged it`);
    }
  }

  #checkForTornBatches(): void {
    for (const names of this.#batches) {
      const seen = names.filter((name) => this.#job(name).runs > 0);
      if (seen.length > 0 && seen.length < names.length) {
        this.problems.push(`of ${names.join(', ')} only ${seen.join(', ')} were enqueued`);
      }
    }
  }

  #run(name: string): void {
    const job = this.#job(name);
    if (job.acked) this.problems.push(`${name} ran again after it was acknowledged as done`);
    job.runs++;
    const { order, number } = positionOf(name);
    const [before, after] = [nameOf(order, number - 1), nameOf(order, number + 1)];
    const earlier = this.#jobs.get(before);
    // A job whose enqueueing was not confirmed may not exist.
    if (earlier?.enqueued && !earlier.ackBegun) this.problems.push(`${name} ran before ${before} was done`);
    if ((this.#jobs.get(after)?.runs ?? 0) > 0) this.problems.push(`${name} ran when ${after} had run already`);
  }

  #job(name: string): JobRecord {
    const job = this.#jobs.get(name);
    if (job === undefined) throw new Error(`${name} was never enqueued`);
    return job;
  }
}
