import { Refusal } from '@tidemark/protocol';
import type { ObjectsChange, SeenState } from '../admission/admit-write.ts';
import type { AdmittedObjects } from '../admission/admitted.ts';
import { JournalFollower } from '../journal/follower.ts';
import { idOfRecord, isObjectOf, readRecord } from '../journal/record.ts';
import type { Pace } from '../ports/pace.ts';
import type { Change, JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { bornWith, changeOf } from './effect.ts';
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
  readonly #objects: AdmittedObjects;
  readonly #since: SeenState | null;
  /** Which of the objects were met in the journal, or are not to be born for another reason. */
  readonly #met: Uint8Array;
  /** What is to be done about ids met so far. */
  readonly #changes = new Map<string, Change>();

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
    this.#met = new Uint8Array(objects.size);
  }

  /** The changes that make the partition in the state answered equal to the document. */
  async changes(): Promise<{ readonly changes: readonly Change[]; readonly state: PartitionState }> {
    const events = {
      slice: (slice: JournalSlice) => this.#decide(slice),
      restart: () => {
        this.#changes.clear();
        this.#met.fill(0);
      },
    };
    const state = await this.#follower.catchUp(events, this.#since?.head);
    return { changes: await gatherPaced(this.#all(), this.#pace), state };
  }

  *#all(): Iterable<Change> {
    yield* this.#changes.values();
    yield* this.#births();
  }

  *#births(): Iterable<Change> {
    for (let index = this.#met.indexOf(0); index !== -1; index = this.#met.indexOf(0, index + 1)) {
      const attributes = this.#objects.attributesAt(index);
      const id = this.#objects.idAt(index);
      if (attributes.size > 0) yield { id, ...bornWith(id, attributes) };
    }
  }

  #decide(slice: JournalSlice): void {
    this.#refuseStale(slice.state);
    for (const [index, record] of slice.records.entries()) {
      this.#decideOn({ seq: slice.seqs[index] ?? 0, record }, slice.state.floor);
    }
    for (const id of slice.tombstones) {
      this.#changes.delete(id);
      const index = this.#objects.indexOf(id);
      // What was deleted after `since` stays deleted; otherwise it is born again.
      if (index !== undefined) this.#met[index] = this.#since === null ? 0 : 1;
    }
  }

  #decideOn(stored: { readonly seq: number; readonly record: string }, floor: number): void {
    const id = idOfRecord(stored.record);
    const index = this.#objects.indexOf(id);
    const change = this.#changeOf(id, index, stored, floor);
    if (index !== undefined) this.#met[index] = 1;
    if (change !== null) this.#changes.set(id, change);
    else if (this.#changes.size > 0) this.#changes.delete(id);
  }

  #changeOf(
    id: string,
    index: number | undefined,
    { seq, record }: { readonly seq: number; readonly record: string },
    floor: number,
  ): Change | null {
    const isNewer = this.#since !== null && seq > this.#since.head;
    if (isNewer || (index !== undefined && isObjectOf(record, this.#objects.textAt(index)))) return null;
    const current = readRecord(record, seq);
    const given = index === undefined ? null : this.#objects.attributesAt(index);
    return changeOf(id, { stored: { seq, record }, current }, replaced(current.attributes, given), floor);
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
