import { COMMIT_ATTEMPTS_MAX, DEFAULT_LIMITS, Refusal } from '@tidemark/protocol';
import type { PartitionWrite } from '../admission/admit-write.ts';
import type { Admitted, ObjectTexts } from '../admission/admitted.ts';
import { bytesMaxOf, type QuotaLimits, quotaExceeded } from '../admission/quota.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import type { Pace } from '../ports/pace.ts';
import type { Change, Commit, CommitResult, Kept, PartitionState, Store } from '../ports/store.ts';
import { KeyedMutex } from '../primitives/keyed-mutex.ts';
import { WITHOUT_PAUSE, WorkBudget } from '../primitives/work-budget.ts';
import { effectOn, idsOf, insertions, type PointChange } from './effect.ts';
import { gatherPaced, weightOf } from './gather-paced.ts';
import { Replacement } from './replacement.ts';

/** What became of a write. `seq` is the head behind it. */
export interface WriteOutcome {
  readonly changed: number;
  readonly unchanged: number;
  readonly seq: number;
}

/** Objects looked up at a time, so that the event loop gets its turn in between. */
const LOOKUP_CHUNK = 1_000;

/** One try: the difference as it looks now, and what the store says to it. */
type Attempt = () => Promise<{ readonly result: CommitResult; readonly changed: number; readonly unchanged: number }>;

/** Carries admitted writes into the store: read, decide, commit, and again when somebody was faster. */
export class Writer {
  readonly #store: Store;
  readonly #pace: Pace;
  readonly #quota: QuotaLimits;
  readonly #turns = new KeyedMutex();

  constructor(store: Store, pace: Pace = WITHOUT_PAUSE, quota: QuotaLimits = DEFAULT_LIMITS) {
    this.#store = store;
    this.#pace = pace;
    this.#quota = quota;
  }

  write(write: Admitted<PartitionWrite>): Promise<WriteOutcome> {
    const { partition } = write;
    const key = JSON.stringify([partition.source, partition.user]);
    const attempt = this.#attemptAt(write);
    if (this.#turns.isTaken(key))
      return this.#turns.take(key, () => this.#retryOnConflict(attempt, COMMIT_ATTEMPTS_MAX));
    return this.#once(attempt, () =>
      this.#turns.take(key, () => this.#retryOnConflict(attempt, COMMIT_ATTEMPTS_MAX - 1)),
    );
  }

  async #once(attempt: Attempt, onConflict: () => Promise<WriteOutcome>): Promise<WriteOutcome> {
    return outcomeOf(await attempt()) ?? onConflict();
  }

  async #retryOnConflict(attempt: Attempt, attemptsMax: number): Promise<WriteOutcome> {
    for (let count = 0; count < attemptsMax; count++) {
      const outcome = outcomeOf(await attempt());
      if (outcome !== null) return outcome;
    }
    throw new Refusal('write_conflict', `other writers changed the same objects ${COMMIT_ATTEMPTS_MAX} times in a row`);
  }

  #attemptAt(write: Admitted<PartitionWrite>): Attempt {
    const { change } = write;
    if (change.op === 'fast_insert') return () => this.#insert(write, change.objects);
    if (change.op !== 'replace') return () => this.#change(write, change);
    const replacement = new Replacement(this.#store, this.#pace, write.partition, change);
    return () => this.#replace(write, replacement, change.objects.size);
  }

  async #insert(write: PartitionWrite, objects: ObjectTexts): ReturnType<Attempt> {
    const changes = await gatherPaced(insertions(objects), this.#pace);
    const state = changes.length === 0 ? await this.#store.partition(write.partition) : null;
    const result = await this.#commit(write, changes, state);
    return { result, changed: changes.length, unchanged: objects.size - changes.length };
  }

  async #change(write: PartitionWrite, change: PointChange): ReturnType<Attempt> {
    const ids = idsOf(change);
    const changes: Change[] = [];
    const kept: Kept[] = [];
    let seen: PartitionState | null = null;
    let last: PartitionState | null = null;
    const budget = new WorkBudget();
    for (let start = 0; start < ids.length || last === null; start += LOOKUP_CHUNK) {
      const chunk = ids.slice(start, start + LOOKUP_CHUNK);
      const { state, objects } = await this.#store.readObjects(write.partition, chunk);
      seen ??= state;
      last = state;
      for (const id of chunk) {
        const stored = objects.get(id);
        const effect = effectOn(change, id, stored, state.floor);
        if (effect === null) kept.push({ id, expect: stored?.seq ?? 0 });
        else changes.push(effect);
        if (budget.isSpent(weightOf(effect))) await this.#pace.turn();
      }
    }
    const isOneState = seen?.epoch === last.epoch && seen.head === last.head;
    const terms = { kept, ...(seen === null ? {} : { seen }) };
    const result = await this.#commit(write, changes, isOneState ? last : null, terms);
    return { result, changed: changes.length, unchanged: kept.length };
  }

  async #replace(write: PartitionWrite, replacement: Replacement, given: number): ReturnType<Attempt> {
    const { changes, state } = await replacement.changes();
    const result = await this.#commit(write, changes, state, { expectHead: state.head, seen: state });
    const puts = changes.filter((change) => change.record !== null).length;
    return { result, changed: changes.length, unchanged: given - puts };
  }

  /**
   * What changes nothing moves nothing: when that was seen in one state, the store, which would have to flush, is not
   * even asked. `state` null: the objects were seen in several states, and only the store can tell whether all still
   * stand as they were seen.
   */
  async #commit(
    write: PartitionWrite,
    changes: readonly Change[],
    state: PartitionState | null,
    terms: Pick<Commit, 'expectHead' | 'kept' | 'seen'> = {},
  ): Promise<CommitResult> {
    if (changes.length === 0 && state !== null) return { status: 'committed', state };
    const { partition, guards } = write;
    const bytesMax = bytesMaxOf(this.#quota, partition);
    const result = await this.#store.commit({ partition, changes, guards, bytesMax, ...terms });
    if (result.status === 'too_large') throw quotaExceeded(partition, bytesMax);
    return result;
  }
}

/** Null: somebody else was faster. */
function outcomeOf({ result, changed, unchanged }: Awaited<ReturnType<Attempt>>): WriteOutcome | null {
  if (result.status === 'conflict' || result.status === 'too_large') return null;
  if (result.status === 'gone') throw refuseGone(result.guard);
  return { changed, unchanged, seq: result.state.head };
}
