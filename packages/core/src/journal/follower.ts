import { Refusal } from '@tidemark/protocol';
import type { JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';

/** Entries read at a time, so that the event loop can do other work in between. */
const SLICE_ENTRIES = 1_000;
const SLICE_UNITS = 1_000_000;
/** A restart happens only after a reset, a restore, or a trim beyond the head at which reading began. */
const RESTARTS_MAX = 5;

export interface FollowerEvents {
  /** Receives the next slice of the journal. */
  slice(slice: JournalSlice): void;
  /** All slices so far are invalid: the partition has a new epoch, or tombstones were trimmed before they were read. */
  restart(): void;
}

/**
 * Reads the journal of a partition to its end in bounded slices, as a device does; a later call reads only what was added.
 * The result is the state of one moment, without a long read transaction.
 */
export class JournalFollower {
  readonly #store: Store;
  readonly #partition: PartitionKey;
  #after = 0;
  #epoch: string | null = null;
  /** The head when reading began. Objects deleted before that were never read. */
  #startHead = 0;

  constructor(store: Store, partition: PartitionKey) {
    this.#store = store;
    this.#partition = partition;
  }

  /** Skips tombstones up to `tombstonesAfter`. Returns the state at the end of the journal. */
  async catchUp(events: FollowerEvents, tombstonesAfter = 0): Promise<PartitionState> {
    for (let restarts = 0; ; ) {
      const slice = await this.#store.readJournal(this.#partition, {
        after: this.#after,
        tombstonesAfter: Math.max(this.#after, tombstonesAfter),
        entriesMax: SLICE_ENTRIES,
        unitsMax: SLICE_UNITS,
      });
      if (this.#isTorn(slice.state)) {
        if (++restarts > RESTARTS_MAX) {
          throw new Refusal('store_unavailable', 'the partition kept being replaced while it was read');
        }
        this.#after = 0;
        this.#epoch = null;
        events.restart();
        continue;
      }
      if (this.#epoch === null) this.#startHead = slice.state.head;
      this.#epoch = slice.state.epoch;
      this.#after = slice.upTo;
      events.slice(slice);
      if (slice.upTo === slice.state.head) return slice.state;
    }
  }

  /** Whether a tombstone of an object that was read may have been trimmed before it was read. */
  #isTorn(state: PartitionState): boolean {
    if (this.#epoch === null) return false;
    return this.#epoch !== state.epoch || state.floor > Math.max(this.#after, this.#startHead);
  }
}
