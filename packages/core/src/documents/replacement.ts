import { Refusal } from '@tidemark/protocol';
import type { ObjectsChange, SeenState } from '../admission/admit-write.ts';
import type { DocumentObject, DocumentObjects } from '../admission/admitted.ts';
import { JournalFollower } from '../journal/follower.ts';
import { idOfRecord, newRecord, type ObjectChange, ObjectRecord } from '../journal/record.ts';
import type { Pace } from '../ports/pace.ts';
import type { JournalSlice, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { changeOf, gatherPaced } from './effect.ts';
import { replaced } from './verdicts.ts';

interface StoredRecord {
  readonly seq: number;
  readonly record: string;
}

/**
 * Computes the changes that make a partition equal to a document. It reads the whole journal once; when another writer
 * commits meanwhile, the next attempt reads only what that writer changed. The commit expects the head that was read.
 *
 * With `since`, the document describes the partition as it was at that moment. Everything above it in the journal, live
 * or deleted, is newer than the document and stays as it is.
 */
export class Replacement {
  readonly #pace: Pace;
  readonly #follower: JournalFollower;
  readonly #objects: DocumentObjects;
  readonly #since: SeenState | null;
  /** The index of the object that the journal probably holds next. */
  #nextIndex = 0;
  /** Deletions of stored objects that the document does not hold, by id. */
  readonly #deletions = new Map<string, ObjectChange>();

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

  /** Returns the changes, and the state of the partition they apply to. */
  async changes(): Promise<{ readonly changes: readonly ObjectChange[]; readonly state: PartitionState }> {
    const events = {
      slice: (slice: JournalSlice) => this.#read(slice),
      restart: () => this.#forget(),
    };
    const state = await this.#follower.catchUp(events, this.#since?.head);
    return { changes: await gatherPaced(this.#changes(), this.#pace), state };
  }

  *#changes(): Iterable<ObjectChange> {
    yield* this.#deletions.values();
    for (const object of this.#objects) {
      if (object.decision === 'create') yield* this.#creation(object);
      else if (object.decision !== 'keep') yield object.decision;
    }
  }

  /** An object without attributes is not created. */
  *#creation(object: DocumentObject): Iterable<ObjectChange> {
    const attributes = this.#objects.attributesOf(object);
    if (!attributes.isEmpty) yield { id: object.id, ...newRecord(object.id, attributes) };
  }

  #forget(): void {
    this.#deletions.clear();
    for (const object of this.#objects) object.decision = 'create';
  }

  #read({ records, seqs, tombstones, state }: JournalSlice): void {
    this.#refuseStale(state);
    for (const [index, record] of records.entries()) this.#decide({ seq: seqs[index] ?? 0, record }, state.floor);
    for (const id of tombstones) {
      this.#deletions.delete(id);
      const object = this.#find(id);
      // With `since`, the follower reads only tombstones above it: an object deleted after `since` stays deleted.
      if (object !== undefined) object.decision = this.#since === null ? 'create' : 'keep';
    }
  }

  #decide(stored: StoredRecord, floor: number): void {
    const id = idOfRecord(stored.record);
    const object = this.#find(id);
    const isNewer = this.#since !== null && stored.seq > this.#since.head;
    if (object !== undefined) object.decision = isNewer ? 'keep' : this.#update(object, stored, floor);
    else if (isNewer) this.#deletions.delete(id);
    else this.#deletions.set(id, { id, record: null, checksum: 0, expect: stored.seq });
  }

  /** The journal mostly has the order of the document. Then the next object is the right one, and needs no look-up. */
  #find(id: string): DocumentObject | undefined {
    const next = this.#objects.at(this.#nextIndex);
    const found = next?.id === id ? next : this.#objects.get(id);
    if (found !== undefined) this.#nextIndex = found.index + 1;
    return found;
  }

  #update(object: DocumentObject, { seq, record }: StoredRecord, floor: number): ObjectChange | 'keep' {
    const current = new ObjectRecord(record, seq);
    // The texts are compared before the given one is parsed.
    if (current.attributes.text === object.content) return 'keep';
    const next = replaced(current.attributes, this.#objects.attributesOf(object));
    return changeOf(object.id, { stored: { seq, record }, current }, next, floor) ?? 'keep';
  }

  /** Refuses a `since` below the floor: tombstones below the floor are forgotten, so deletions cannot be seen. */
  #refuseStale(state: PartitionState): void {
    if (this.#since === null) return;
    // An empty partition has the epoch of the store; its first write appends a part of its own.
    const { epoch, head } = this.#since;
    const isOtherEpoch = head > 0 ? epoch !== state.epoch : !state.epoch.startsWith(epoch);
    if (!isOtherEpoch && state.floor <= this.#since.head) return;
    throw new Refusal('refresh_stale', 'the document is older than what the partition remembers; query again');
  }
}
