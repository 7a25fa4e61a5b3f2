import { type Problem, problemAbout } from './problem.ts';
import type { PartitionReading } from './read-store.ts';

/** What is known of the last look at a partition. */
interface Look {
  readonly epoch: string;
  readonly head: number;
  readonly floor: number;
  readonly journal: ReadonlyMap<number, string>;
}

/** One write of objects, as far as devices may hear of it. */
interface Stir {
  readonly ids: ReadonlySet<string>;
  /** The moment it was acknowledged. */
  doneAt: number;
}

/** What may never be undone about one partition: its epoch, its seqs, its floor. */
export class PartitionHistory {
  /** Counts the lives: a user who is deleted and made again begins another. */
  life = 0;
  readonly #place: string;
  readonly #pastEpochs = new Set<string>();
  #last: Look | null = null;
  #seqAcknowledged = 0;
  #floorAcknowledged = 0;
  #stirs: Stir[] = [];

  constructor(place: string) {
    this.#place = place;
  }

  /** The newest seq that was acknowledged in this life. */
  get seqAcknowledged(): number {
    return this.#seqAcknowledged;
  }

  acknowledgeSeq(seq: number): void {
    this.#seqAcknowledged = Math.max(this.#seqAcknowledged, seq);
  }

  acknowledgeFloor(floor: number): void {
    this.#floorAcknowledged = Math.max(this.#floorAcknowledged, floor);
  }

  /** A write began; call what is returned when it is acknowledged. */
  stir(ids: Iterable<string>): (now: number) => void {
    const stir: Stir = { ids: new Set(ids), doneAt: Number.POSITIVE_INFINITY };
    this.#stirs.push(stir);
    return (now) => {
      stir.doneAt = now;
    };
  }

  /** Whether an object was written to since the last complete catch-up of the device. */
  isStirred(id: string): boolean {
    return this.#stirs.some(({ ids }) => ids.has(id));
  }

  /** The device has caught up by a pull begun at that moment: it will not hear again of what was done before. */
  caughtUp(begunAt: number): void {
    this.#stirs = this.#stirs.filter(({ doneAt }) => doneAt >= begunAt);
  }

  beginLife(): void {
    this.life++;
    if (this.#last !== null) this.#pastEpochs.add(this.#last.epoch);
    this.#last = null;
    this.#seqAcknowledged = 0;
    this.#floorAcknowledged = 0;
  }

  /** Null: the store does not know the partition. */
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
    yield { rule: 'CRASH-4', detail: `${this.#place}: ${detail}` };
  }

  *#examineEpoch({ state }: PartitionReading): Iterable<Problem> {
    if (this.#last !== null && this.#last.epoch !== state.epoch) yield this.#problem('the epoch changed');
    if (this.#pastEpochs.has(state.epoch)) yield this.#problem('the epoch of an earlier life came back');
  }

  *#examineSeqs({ state, journal }: PartitionReading): Iterable<Problem> {
    if (state.head < this.#seqAcknowledged) {
      yield this.#problem(`the head is ${state.head}, but seq ${this.#seqAcknowledged} was given out`);
    }
    if (state.floor < this.#floorAcknowledged || state.floor > state.head) {
      yield this.#problem(`the floor is ${state.floor} (head ${state.head}), after ${this.#floorAcknowledged}`);
    }
    const beyond = [...journal.keys()].filter((seq) => seq > state.head || seq < 1);
    if (beyond.length > 0) yield this.#problem('something stands outside the journal', beyond.map(String));
    const reused = this.#reused(journal);
    if (reused.length > 0) yield this.#problem('a seq stands for something else than before', reused);
  }

  /** Up to the head of the last look things may leave the journal, but nothing can have been added to it. */
  #reused(journal: ReadonlyMap<number, string>): string[] {
    const last = this.#last;
    if (last === null) return [];
    return [...journal]
      .filter(([seq, content]) => seq <= last.head && last.journal.get(seq) !== content)
      .map(([seq, content]) => `${seq}: ${last.journal.get(seq) ?? 'nothing'}, now ${content}`);
  }

  #problem(what: string, details: readonly string[] = []): Problem {
    return problemAbout('CRASH-5', `${this.#place}: ${what}`, details);
  }
}
