import { Refusal } from '@tidemark/protocol';
import type { Moment, ObjectsChange } from '../admission/admit-write.ts';
import type { ObjectTexts } from '../admission/admitted.ts';
import { JournalFollower } from '../journal/follower.ts';
import { bornRecord, readRecord } from '../journal/record.ts';
import type { Pace } from '../ports/pace.ts';
import type { Change, JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { changeOf } from './effect.ts';
import { gatherPaced } from './gather-paced.ts';
import { replaced } from './verdicts.ts';

/**
 * Makes a partition equal to a given document. It follows the journal: first all of it, then, when another writer came
 * in between, only what that one changed. The commit expects the head it has caught up with, so what is written is
 * exactly the difference to that state.
 *
 * With `since`, the document describes the world as it was at that moment: whatever stands in the journal above it,
 * live or deleted, is newer than the document and stays as it is.
 */
export class Replacement {
  readonly #pace: Pace;
  readonly #follower: JournalFollower;
  readonly #objects: ObjectTexts;
  readonly #since: Moment | null;
  /** What is to be done about the ids met so far; null: nothing. */
  readonly #decisions = new Map<string, Change | null>();

  constructor(
    store: Store,
    pace: Pace,
    partition: PartitionKey,
    { objects, since }: Extract<ObjectsChange, { readonly op: 'replace' }>,
  ) {
    this.#pace = pace;
    this.#follower = new JournalFollower(store, partition);
    this.#objects = objects;
    this.#since = since;
  }

  /** The changes that make the partition in the state answered equal to the document. */
  async changes(): Promise<{ readonly changes: readonly Change[]; readonly state: PartitionState }> {
    const events = {
      slice: (slice: JournalSlice) => this.#decide(slice),
      restart: () => this.#decisions.clear(),
    };
    const state = await this.#follower.catchUp(events, this.#since?.head);
    return { changes: await gatherPaced(this.#all(), this.#pace), state };
  }

  *#all(): Iterable<Change> {
    yield* this.#decided();
    yield* this.#births();
  }

  *#decided(): Iterable<Change> {
    for (const decision of this.#decisions.values()) {
      if (decision !== null) yield decision;
    }
  }

  *#births(): Iterable<Change> {
    for (const [id, attributes] of this.#objects) {
      if (!this.#decisions.has(id) && attributes.size > 0) yield { id, ...bornRecord(id, attributes) };
    }
  }

  #decide(slice: JournalSlice): void {
    this.#refuseStale(slice.state);
    for (const [index, record] of slice.records.entries()) {
      const seq = slice.seqs[index] ?? 0;
      const current = readRecord(record, seq);
      const isNewer = this.#since !== null && seq > this.#since.head;
      const verdict = isNewer ? null : replaced(current.attributes, this.#objects.get(current.id) ?? null);
      this.#decisions.set(current.id, changeOf(current.id, { seq, record }, current, verdict, slice.state.floor));
    }
    for (const id of slice.graves) {
      if (this.#since === null) this.#decisions.delete(id);
      else this.#decisions.set(id, null);
    }
  }

  /** Whether something was deleted after `since` cannot be told any more once its tombstone is forgotten. */
  #refuseStale(state: PartitionState): void {
    if (this.#since === null) return;
    // A partition gets its own word with its first write, so then only the store's word can be compared.
    const { epoch, head } = this.#since;
    const isOtherLife = head > 0 ? epoch !== state.epoch : !state.epoch.startsWith(epoch);
    if (!isOtherLife && state.floor <= this.#since.head) return;
    throw new Refusal('refresh_stale', 'the document is older than what the partition remembers; query again');
  }
}
