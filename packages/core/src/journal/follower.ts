import type { JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';

/** Entries read at a time, so that the event loop gets its turn in between. */
const SLICE_ENTRIES = 1_000;
const SLICE_UNITS = 1_000_000;

export interface FollowerEvents {
  /** The next stretch of the journal. */
  slice(slice: JournalSlice): void;
  /** What was followed so far is void: the partition began a new life, or forgot tombstones not met yet. */
  restart(): void;
}

/**
 * Reads a partition to the end of its journal the way a device does: page by page until nothing more follows, later
 * only what came since. What it has then is the state of one moment, though no snapshot was held and no single read
 * was large.
 */
export class JournalFollower {
  readonly #store: Store;
  readonly #partition: PartitionKey;
  #after = 0;
  #epoch: string | null = null;

  constructor(store: Store, partition: PartitionKey) {
    this.#store = store;
    this.#partition = partition;
  }

  /** Tombstones up to `gravesAfter` are of no interest. Answers the state that has been caught up with. */
  async catchUp(events: FollowerEvents, gravesAfter = 0): Promise<PartitionState> {
    for (;;) {
      const slice = await this.#store.readJournal(this.#partition, {
        after: this.#after,
        gravesAfter: Math.max(this.#after, gravesAfter),
        entriesMax: SLICE_ENTRIES,
        unitsMax: SLICE_UNITS,
      });
      if (this.#isTorn(slice.state)) {
        this.#after = 0;
        this.#epoch = null;
        events.restart();
        continue;
      }
      this.#epoch = slice.state.epoch;
      this.#after = slice.upTo;
      events.slice(slice);
      if (slice.upTo === slice.state.head) return slice.state;
    }
  }

  #isTorn(state: PartitionState): boolean {
    return this.#epoch !== null && (this.#epoch !== state.epoch || state.floor > this.#after);
  }
}
