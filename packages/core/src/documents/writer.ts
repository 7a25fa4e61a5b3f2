import { COMMIT_ATTEMPTS_MAX } from '@tidemark/protocol';
import type { PartitionWrite } from '../admission/admit-write.ts';
import type { Admitted, ObjectTexts } from '../admission/admitted.ts';
import { bytesMaxOf, type QuotaLimits, quotaExceeded } from '../admission/quota.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import { BACKEND, type FileClaims, joinGuards, withoutLostClaims } from '../files/file-claims.ts';
import type { ObjectChange } from '../journal/record.ts';
import type { Clock } from '../ports/clock.ts';
import { partitionName } from '../ports/owner.ts';
import type { Pace } from '../ports/pace.ts';
import { isSameHead } from '../ports/store/partition.ts';
import type { Commit, CommitResult, PartitionState, Store, UnchangedObject } from '../ports/store.ts';
import { KeyedMutex } from '../primitives/keyed-mutex.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { WorkBudget } from '../primitives/work-budget.ts';
import { effectOn, gatherPaced, idsOf, insertions, type PointChange, weightOf } from './effect.ts';
import { type ChangeObserver, ObservedChanges } from './observed-changes.ts';
import { Replacement } from './replacement.ts';

/** The result of a write. `seq` is the head of the partition after it, in `epoch`. */
export interface WriteOutcome {
  readonly changed: number;
  readonly unchanged: number;
  readonly seq: number;
  readonly epoch: string;
}

export interface WriterPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly pace: Pace;
  readonly limits: QuotaLimits;
  readonly files: FileClaims;
}

/** Objects read at a time, so that the event loop can do other work in between. */
const LOOKUP_CHUNK = 1_000;

/** Reads the stored objects, computes the changes and commits them. Null: another writer was faster. */
type Attempt = () => Promise<WriteOutcome | null>;

/** Writes admitted objects to the store, and tries again when another writer was faster. */
export class Writer {
  readonly #ports: WriterPorts;
  readonly #store: Store;
  readonly #pace: Pace;
  readonly #queues = new KeyedMutex();

  constructor(ports: WriterPorts) {
    this.#ports = ports;
    this.#store = ports.store;
    this.#pace = ports.pace;
  }

  /** A write that meets no other goes to the store at once. After a conflict, the writes of a partition queue up. */
  async write(write: Admitted<PartitionWrite>, observer: ChangeObserver | null = null): Promise<WriteOutcome> {
    const attempt = this.#attemptAt(write, observer);
    const isQueued = !this.#queues.isFree && this.#queues.isTaken(partitionName(write.partition));
    const outcome = isQueued ? null : await attempt();
    if (outcome !== null) return outcome;
    const attemptsMax = isQueued ? COMMIT_ATTEMPTS_MAX : COMMIT_ATTEMPTS_MAX - 1;
    return this.#queues.take(partitionName(write.partition), () =>
      retryOnConflict(attempt, { subject: 'the same objects', attemptsMax }),
    );
  }

  #attemptAt(write: Admitted<PartitionWrite>, observer: ChangeObserver | null): Attempt {
    const { change } = write;
    if (change.op === 'fast_insert') return () => this.#insert(write, change.objects, observer);
    if (change.op !== 'replace') return () => this.#change(write, change, observer);
    const replacement = new Replacement(this.#store, this.#pace, write.partition, change);
    return () => this.#replace(write, replacement, change.objects.size);
  }

  /** The objects are not read, unless somebody observes: then what another write changes meanwhile is not shown. */
  async #insert(write: PartitionWrite, objects: ObjectTexts, observer: ChangeObserver | null): ReturnType<Attempt> {
    const changes = await gatherPaced(insertions(objects), this.#pace);
    const state = changes.length === 0 ? await this.#store.partition(write.partition) : null;
    const observed = new ObservedChanges(observer);
    const ids = changes.slice(0, observer?.objectsMax ?? 0).map(({ id }) => id);
    const before = ids.length === 0 ? null : await this.#store.readObjects(write.partition, ids);
    for (const change of changes.slice(0, ids.length)) observed.add(before?.objects.get(change.id), change);
    const result = await this.#commit(write, changes, state);
    return observed.tell(outcomeOf(result, changes.length, objects.size - changes.length));
  }

  async #change(write: PartitionWrite, change: PointChange, observer: ChangeObserver | null): ReturnType<Attempt> {
    const ids = idsOf(change);
    const observed = new ObservedChanges(observer);
    const changes: ObjectChange[] = [];
    const kept: UnchangedObject[] = [];
    let seen: PartitionState | null = null;
    let last: PartitionState | null = null;
    const budget = new WorkBudget();
    const { check } = write;
    check?.begin();
    for (let start = 0; start < ids.length || last === null; start += LOOKUP_CHUNK) {
      const chunk = ids.slice(start, start + LOOKUP_CHUNK);
      const { state, objects } = await this.#store.readObjects(write.partition, chunk);
      seen ??= state;
      last = state;
      for (const id of chunk) {
        const stored = objects.get(id);
        const effect = effectOn(change, id, stored, { floor: state.floor, check });
        if (effect === null) kept.push({ id, expect: stored?.seq ?? 0 });
        else changes.push(effect);
        observed.add(stored, effect);
        // Reading a stored object takes as long as making a change, also when nothing changes.
        if (budget.isSpent(weightOf(effect) + (stored?.record?.length ?? 0))) await this.#pace.turn();
      }
    }
    check?.requireFit();
    const terms = { kept, ...(seen === null ? {} : { seen }) };
    const result = await this.#commit(write, changes, isSame(seen, last) ? last : null, terms);
    return observed.tell(outcomeOf(result, changes.length, kept.length));
  }

  async #replace(write: PartitionWrite, replacement: Replacement, given: number): ReturnType<Attempt> {
    const { changes, state } = await replacement.changes();
    const result = await this.#commit(write, changes, state, { expectHead: state.head, seen: state });
    const puts = changes.filter((change) => change.record !== null).length;
    return outcomeOf(result, changes.length, given - puts);
  }

  /**
   * Commits nothing when there are no changes and all objects were read in one `state`, because a commit costs a flush.
   * With `state` null they were read in several states, and the store has to check that they are still as they were.
   */
  async #commit(
    write: PartitionWrite,
    changes: readonly ObjectChange[],
    state: PartitionState | null,
    terms: Pick<Commit, 'expectHead' | 'kept' | 'seen'> = {},
  ): Promise<CommitResult> {
    if (changes.length === 0 && state !== null) return { status: 'committed', state };
    const { partition } = write;
    const { clock, files, limits } = this.#ports;
    const bytesMax = bytesMaxOf(limits, partition);
    const guards = joinGuards(write.guards, await files.claimAdded(partition, changes, BACKEND));
    const atMs = clock.nowMs();
    const result = withoutLostClaims(
      await this.#store.commit({ partition, changes, guards, bytesMax, atMs, ...terms }),
    );
    if (result.status === 'too_large') throw quotaExceeded(partition, bytesMax);
    return result;
  }
}

/** Whether a partition held the same objects at both reads. Most writes read once. */
function isSame(first: PartitionState | null, last: PartitionState): boolean {
  return first === last || (first !== null && isSameHead(first, last));
}

function outcomeOf(result: CommitResult, changed: number, unchanged: number): WriteOutcome | null {
  if (result.status === 'conflict' || result.status === 'too_large') return null;
  if (result.status === 'gone') throw refuseGone(result.guard);
  return { changed, unchanged, seq: result.state.head, epoch: result.state.epoch };
}
