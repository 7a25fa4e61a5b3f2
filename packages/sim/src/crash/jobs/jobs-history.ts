import { type Line, nameOf, ORDERS, placeOf } from './line.ts';

/** What is known of a job from what the workers said. */
interface Fate {
  enqueued: boolean;
  runs: number;
  /** An acknowledgement was begun; it may have been taken or not. */
  ackBegun: boolean;
  acked: boolean;
}

/** Everything the workers said, over all their lives, and what of it cannot be. */
export class JobsHistory {
  readonly problems: string[] = [];
  readonly #fates = new Map<string, Fate>();
  /** Enqueued together: all of them are there or none is. */
  readonly #batches: (readonly string[])[] = [];

  /** The number of the next job of each order. */
  next(): readonly number[] {
    return ORDERS.map((order) => {
      const numbers = [...this.#fates.keys()].map(placeOf).filter((place) => place.order === order);
      return Math.max(-1, ...numbers.map(({ number }) => number)) + 1;
    });
  }

  count(what: 'enqueued' | 'acked'): number {
    return [...this.#fates.values()].filter((fate) => fate[what]).length;
  }

  /** Jobs that were run more than once: somebody died, or gave them back. */
  get repeated(): number {
    return [...this.#fates.values()].filter(({ runs }) => runs > 1).length;
  }

  hear(line: Line): void {
    switch (line.say) {
      case 'enqueue':
        this.#batches.push(line.names);
        for (const name of line.names)
          this.#fates.set(name, { enqueued: false, runs: 0, ackBegun: false, acked: false });
        return;
      case 'enqueued':
        for (const name of line.names) this.#fate(name).enqueued = true;
        return;
      case 'run':
        this.#run(line.name);
        return;
      case 'ack':
        this.#fate(line.name).ackBegun = true;
        return;
      case 'acked':
        this.#fate(line.name).acked = true;
        return;
      case 'failed':
        this.problems.push(`a worker failed: ${line.reason}`);
    }
  }

  /** Draws the balance: `left` are the jobs still in the store, in the order in which they were leased. */
  close(left: readonly string[]): void {
    for (const name of left) {
      this.#run(name);
      this.#fate(name).ackBegun = true;
    }
    for (const [name, { enqueued, runs }] of this.#fates) {
      if (enqueued && runs === 0) this.problems.push(`${name} was acknowledged as enqueued and never ran`);
    }
    this.#lookForLost(new Set(left));
    this.#lookForTornBatches();
  }

  #lookForLost(left: ReadonlySet<string>): void {
    for (const [name, { enqueued, ackBegun }] of this.#fates) {
      if (enqueued && !ackBegun && !left.has(name)) this.problems.push(`${name} is gone, and nobody said it was done`);
    }
  }

  #lookForTornBatches(): void {
    for (const names of this.#batches) {
      const seen = names.filter((name) => this.#fate(name).runs > 0);
      if (seen.length > 0 && seen.length < names.length) {
        this.problems.push(`of ${names.join(', ')} only ${seen.join(', ')} were enqueued`);
      }
    }
  }

  #run(name: string): void {
    const fate = this.#fate(name);
    if (fate.acked) this.problems.push(`${name} ran again after it was acknowledged as done`);
    fate.runs++;
    const { order, number } = placeOf(name);
    const [before, after] = [nameOf(order, number - 1), nameOf(order, number + 1)];
    const earlier = this.#fates.get(before);
    // One that nobody was promised may never have been there.
    if (earlier?.enqueued && !earlier.ackBegun) this.problems.push(`${name} ran before ${before} was done`);
    if ((this.#fates.get(after)?.runs ?? 0) > 0) this.problems.push(`${name} ran when ${after} had run already`);
  }

  #fate(name: string): Fate {
    const fate = this.#fates.get(name);
    if (fate === undefined) throw new Error(`nobody ever enqueued ${name}`);
    return fate;
  }
}
