/** A write of one object. Every write of a run has a value of its own. */
export interface RegisterWrite {
  readonly value: number;
  readonly startMs: number;
  /** When it was acknowledged; infinite: it never was, so it may take effect at any time after its start, or never. */
  endMs: number;
  /** True: it was refused at `endMs`. It may have taken effect before that, but not later. */
  isRefused: boolean;
}

/** A read of one object that was answered. Null: the object did not exist. */
export interface RegisterRead {
  readonly value: number | null;
  readonly startMs: number;
  readonly endMs: number;
}

/** The writes and reads of one object since a moment at which its value was known. */
export class RegisterHistory {
  readonly writes: RegisterWrite[] = [];
  readonly reads: RegisterRead[] = [];
  readonly #initial: number | null;

  constructor(initial: number | null) {
    this.#initial = initial;
  }

  begin(value: number, startMs: number): RegisterWrite {
    const write = { value, startMs, endMs: Number.POSITIVE_INFINITY, isRefused: false };
    this.writes.push(write);
    return write;
  }

  /** Returns whether the value was surely replaced before the other was written. */
  isOlder(value: number | null, than: number): boolean {
    const newer = this.writes.find((write) => write.value === than);
    if (newer === undefined || value === than) return false;
    if (value === this.#initial || value === null) return true;
    const older = this.writes.find((write) => write.value === value);
    // A value of an earlier history was replaced before this one began.
    return older === undefined || older.endMs < newer.startMs;
  }

  /**
   * Describes why no order of the writes and reads explains what was answered; null: one does. Since every write has a
   * value of its own, a read names its write, and the test of Gibbons and Korach (Testing Shared Memories, 1997, theorem 4.1)
   * decides exactly and without a search: all operations on one value are a zone, from the first end to the last start. Two
   * zones in which the value was surely held must not overlap, and no other zone may lie within one of them.
   */
  problem(): string | null {
    const zones = new Map<number | null, Zone>();
    zones.set(this.#initial, { value: this.#initial, from: Number.NEGATIVE_INFINITY, to: Number.NEGATIVE_INFINITY });
    for (const { value, startMs, endMs } of this.writes) zones.set(value, { value, from: endMs, to: startMs });
    for (const read of this.reads) {
      const zone = zones.get(read.value);
      if (zone === undefined) return `a read returned ${read.value}, which was not written since ${this.#initial}`;
      const write = this.writes.find(({ value }) => value === read.value);
      if (write !== undefined && read.endMs < write.startMs)
        return `a read returned ${read.value} before it was written`;
      zone.from = Math.min(zone.from, read.endMs);
      zone.to = Math.max(zone.to, read.startMs);
    }
    // A write without an answer, or a refused one, that nobody has read may not have happened.
    const read = new Set(this.reads.map(({ value }) => value));
    for (const { value, isRefused } of this.writes) if (isRefused && !read.has(value)) zones.delete(value);
    const seen = [...zones.values()].filter(({ from }) => from !== Number.POSITIVE_INFINITY);
    return conflictIn(seen);
  }
}

/** From the first end to the last start of the operations on a value: if `from` is first, it was held all that time. */
interface Zone {
  readonly value: number | null;
  from: number;
  to: number;
}

function conflictIn(zones: readonly Zone[]): string | null {
  const held = zones.filter(({ from, to }) => from < to).sort((left, right) => left.from - right.from);
  for (const [index, zone] of held.entries()) {
    const next = held[index + 1];
    if (next !== undefined && next.from < zone.to) return described(zone, next);
  }
  for (const zone of held) {
    const inside = zones.find(({ from, to }) => from >= to && zone.from < to && from < zone.to);
    if (inside !== undefined) return described(zone, inside);
  }
  return null;
}

function described(zone: Zone, other: Zone): string {
  const at = (ms: number) => (Number.isFinite(ms) ? `${Math.round(ms)} ms` : 'the beginning');
  const when = `it was there at ${at(zone.from)} and at ${at(zone.to)}`;
  return `the value was ${zone.value} both before and after it was ${other.value} (${when}): an acknowledged write was lost or seen late`;
}
