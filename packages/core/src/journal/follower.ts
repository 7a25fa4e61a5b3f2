import { Refusal } from '@tidemark/protocol';
import type { JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';

/** Entries read at a time, so that the event loop gets its turn in between. */
const SLICE_ENTRIES = 1_000;
const SLICE_UNITS = 1_000_000;
/** A restart takes another life of the partition, or a trim beyond the head at which reading began. */
const RESTARTS_MAX = 5;

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
  /** The head when reading began: whatever was deleted before that, the reader has not met. */
  #startHead = 0;

  constructor(store: Store, partition: PartitionKey) {
    this.#store = store;
    this.#partition = partition;
  }

  /** Tombstones up to `tombstonesAfter` are of no interest. Answers the state that has been caught up with. */
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

  /** Whether a tombstone may be gone of an object that was read: one that is new since the beginning and not met yet. */
  #isTorn(state: PartitionState): boolean {
    if (this.#epoch === null) return false;
    return this.#epoch !== state.epoch || state.floor > Math.max(this.#after, this.#startHead);
  }
}
