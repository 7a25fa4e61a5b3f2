import { type Problem, problemAbout } from './problem.ts';
import type { PartitionReading } from './read-store.ts';

/** The state of a partition at the last check. */
interface Observation {
  readonly epoch: string;
  readonly head: number;
  readonly floor: number;
  readonly journal: ReadonlyMap<number, string>;
}

/** A write of objects that pages of the device may still contain. */
interface PendingWrite {
  readonly ids: ReadonlySet<string>;
  /** The time when it was acknowledged. */
  acknowledgedAt: number;
}

/** Checks what may never go back in one partition: its epoch, its seqs, its floor. */
export class PartitionHistory {
  /** Counts generations: a user who is deleted and created again begins another. */
  generation = 0;
  readonly #path: string;
  readonly #pastEpochs = new Set<string>();
  #last: Observation | null = null;
  #seqAcknowledged = 0;
  #floorAcknowledged = 0;
  #pendingWrites: PendingWrite[] = [];

  constructor(path: string) {
    this.#path = path;
  }

  /** The newest seq that was acknowledged in this generation. */
  get seqAcknowledged(): number {
    return this.#seqAcknowledged;
  }

  acknowledgeSeq(seq: number): void {
    this.#seqAcknowledged = Math.max(this.#seqAcknowledged, seq);
  }

  acknowledgeFloor(floor: number): void {
    this.#floorAcknowledged = Math.max(this.#floorAcknowledged, floor);
  }

  /** Records that a write began. Returns the function to call when it is acknowledged. */
  beginWrite(ids: Iterable<string>): (now: number) => void {
    const beginWrite: PendingWrite = { ids: new Set(ids), acknowledgedAt: Number.POSITIVE_INFINITY };
    this.#pendingWrites.push(beginWrite);
    return (now) => {
      beginWrite.acknowledgedAt = now;
    };
  }

  /** Returns true if an object was written since the last complete catch-up of the device. */
  wasWritten(id: string): boolean {
    return this.#pendingWrites.some(({ ids }) => ids.has(id));
  }

  /** Records that the device caught up by a pull that began at that time: later pages omit the writes before it. */
  caughtUp(begunAt: number): void {
    this.#pendingWrites = this.#pendingWrites.filter(({ acknowledgedAt }) => acknowledgedAt >= begunAt);
  }

  beginGeneration(): void {
    this.generation++;
    if (this.#last !== null) this.#pastEpochs.add(this.#last.epoch);
    this.#last = null;
    this.#seqAcknowledged = 0;
    this.#floorAcknowledged = 0;
  }

  /** Compares with the partition in the store; null: the store does not have it. */
  *examine(reading: PartitionReading | null): Iterable<Problem> {
    if (reading === null) {
      if (this.#last !== null || this.#seqAcknowledged > 0) yield this.#problem('the partition is gone');
      return;
    }
    yield* this.#examineSums(reading);
    yield* this.#examineEpoch(reading);
    yield* this.#examineSeqs(reading);
    const { epoch, head, floor } = reading.state;
    this.#last = { epoch, head, floor, journal: reading.journal };
    this.acknowledgeSeq(head);
    this.acknowledgeFloor(floor);
  }

  *#examineSums({ state, size, checksum }: PartitionReading): Iterable<Problem> {
    if (state.size === size && state.checksum === checksum) return;
    const detail = `size ${state.size} and checksum ${state.checksum} noted, ${size} and ${checksum} computed`;
    yield { rule: 'CRASH-4', detail: `${this.#path}: ${detail}` };
  }

  *#examineEpoch({ state }: PartitionReading): Iterable<Problem> {
    if (this.#last !== null && this.#last.epoch !== state.epoch) yield this.#problem('the epoch changed');
    if (this.#pastEpochs.has(state.epoch)) yield this.#problem('the epoch of an earlier generation came back');
  }

  *#examineSeqs({ state, journal }: PartitionReading): Iterable<Problem> {
    if (state.head < this.#seqAcknowledged) {
      yield this.#problem(`the head is ${state.head}, but seq ${this.#seqAcknowledged} was acknowledged`);
    }
    if (state.floor < this.#floorAcknowledged || state.floor > state.head) {
      yield this.#problem(`the floor is ${state.floor} (head ${state.head}), after ${this.#floorAcknowledged}`);
    }
    const beyond = [...journal.keys()].filter((seq) => seq > state.head || seq < 1);
    if (beyond.length > 0) yield this.#problem('the journal has an entry outside its range', beyond.map(String));
    const reused = this.#reused(journal);
    if (reused.length > 0) yield this.#problem('a seq has other content than before', reused);
  }

  /** Returns changed entries up to the last head, where entries may disappear but nothing may be added. */
  #reused(journal: ReadonlyMap<number, string>): string[] {
    const last = this.#last;
    if (last === null) return [];
    return [...journal]
      .filter(([seq, content]) => seq <= last.head && last.journal.get(seq) !== content)
      .map(([seq, content]) => `${seq}: ${last.journal.get(seq) ?? 'nothing'}, now ${content}`);
  }

  #problem(what: string, details: readonly string[] = []): Problem {
    return problemAbout('CRASH-5', `${this.#path}: ${what}`, details);
  }
}
