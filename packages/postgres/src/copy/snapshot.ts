const XIDS = 2n ** 32n;

/** Which transactions a statement sees, as `pg_current_snapshot` says it. */
export class Snapshot {
  readonly #xmin: bigint;
  readonly #xmax: bigint;
  readonly #running: ReadonlySet<bigint>;

  private constructor(xmin: bigint, xmax: bigint, running: readonly bigint[]) {
    this.#xmin = xmin;
    this.#xmax = xmax;
    this.#running = new Set(running);
  }

  /** Reads a text such as `100:105:101,103`. */
  static parse(text: string): Snapshot {
    const [xmin, xmax, running] = text.split(':');
    if (xmin === undefined || xmax === undefined || running === undefined) {
      throw new Error(`"${text}" is no snapshot of Postgres, such as 100:105:101,103`);
    }
    return new Snapshot(BigInt(xmin), BigInt(xmax), running === '' ? [] : running.split(',').map(BigInt));
  }

  /** Whether the transaction, which has committed, is visible. `xid` has 32 bits, as the stream sends it. */
  sees(xid: number): boolean {
    const whole = this.#whole(xid);
    return whole < this.#xmin || (whole < this.#xmax && !this.#running.has(whole));
  }

  /** The transaction with these last 32 bits that is nearest to the snapshot. */
  #whole(xid: number): bigint {
    const candidate = this.#xmax - (this.#xmax % XIDS) + BigInt(xid);
    if (candidate - this.#xmax > XIDS / 2n) return candidate - XIDS;
    return this.#xmax - candidate > XIDS / 2n ? candidate + XIDS : candidate;
  }
}
