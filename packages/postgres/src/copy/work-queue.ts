import type { Lsn } from '../replication/message.ts';

/** Rows that have to be read beside the copy of whole tables. */
export interface NamedWork {
  readonly label: string;
  /** `keys`: rows by object id; `children`: rows by the object id of their parent; `owner`: the rows of a user. */
  readonly kind: 'keys' | 'children' | 'owner';
  readonly names: ReadonlySet<string>;
  /** The stored position when it was asked for. Until it is done, no later one is stored, so that a restart asks again. */
  readonly heldAt: Lsn;
}

/** Read at a time. */
const NAMES_PER_WORK: Readonly<Record<NamedWork['kind'], number>> = { keys: 500, children: 100, owner: 1 };
/** More than these of a table are not named: the whole table is copied. */
const NAMES_MAX = 10_000;

interface QueuedWork extends NamedWork {
  readonly names: Set<string>;
  /** Ascends with each work. */
  readonly number: number;
}

/** Named work, in the order in which it was asked for. */
export class WorkQueue {
  #works: QueuedWork[] = [];
  /** The first one is under way, so that nothing is added to it. */
  #isStarted = false;
  #last = 0;

  /** The number of the last work that was asked for. */
  get last(): number {
    return this.#last;
  }

  /** Whether this work and all before it are done. */
  isDone(number: number): boolean {
    return (this.#works[0]?.number ?? number + 1) > number;
  }

  /** False: there is too much; copy the whole table instead. */
  add({ label, kind, names, heldAt }: NamedWork): boolean {
    const size = this.#works.reduce((sum, work) => sum + (work.label === label ? work.names.size : 0), 0);
    if (size + names.size > NAMES_MAX) return false;
    for (const name of names) this.#openWork(label, kind, heldAt).names.add(name);
    return true;
  }

  get all(): readonly NamedWork[] {
    return this.#works;
  }

  get first(): NamedWork | null {
    return this.#works[0] ?? null;
  }

  get heldAt(): Lsn | null {
    return this.#works.reduce<Lsn | null>((least, { heldAt }) => {
      return least === null || heldAt < least ? heldAt : least;
    }, null);
  }

  start(): void {
    this.#isStarted = true;
  }

  finish(): void {
    this.#works.shift();
    this.#isStarted = false;
  }

  /** Leaves out everything about a table. */
  drop(label: string): void {
    if (this.#works[0]?.label === label) this.#isStarted = false;
    this.#works = this.#works.filter((work) => work.label !== label);
  }

  #openWork(label: string, kind: NamedWork['kind'], heldAt: Lsn): QueuedWork {
    const open = this.#works.find(
      (work, index) =>
        work.label === label &&
        work.kind === kind &&
        work.heldAt <= heldAt &&
        work.names.size < NAMES_PER_WORK[kind] &&
        !(index === 0 && this.#isStarted),
    );
    if (open !== undefined) return open;
    this.#last++;
    const work = { label, kind, names: new Set<string>(), heldAt, number: this.#last };
    this.#works.push(work);
    return work;
  }
}
