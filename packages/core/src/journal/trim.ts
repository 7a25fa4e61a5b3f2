import type { DeviceTidemark, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { isValidUpTo } from './is-valid-up-to.ts';

export const RETENTION_MS_DEFAULT = 30 * 24 * 3_600_000;
const TIDEMARKS_PER_READ = 1_000;
/** Bounded work per call: what remains is for the next one. */
const TRIM_STEPS_MAX = 100;

/** Forgets the tombstones that no device seen lately still needs. */
export async function trim(store: Store, partition: PartitionKey, terms: TrimTerms): Promise<PartitionState> {
  let state = await store.partition(partition);
  const { epoch } = state;
  const point = await lowestPoint(store, partition, state, terms);
  for (let step = 0; step < TRIM_STEPS_MAX && state.epoch === epoch && state.floor < point; step++) {
    state = await store.trim(partition, point);
  }
  return state;
}

async function lowestPoint(
  store: Store,
  partition: PartitionKey,
  state: PartitionState,
  terms: TrimTerms,
): Promise<number> {
  let point = state.head;
  let after: string | undefined;
  do {
    const marks = await store.listTidemarks(partition, {
      limit: TIDEMARKS_PER_READ,
      ...(after === undefined ? {} : { after }),
    });
    point = Math.min(point, trimPoint(state, marks, terms));
    after = marks.length < TIDEMARKS_PER_READ ? undefined : marks.at(-1)?.client;
  } while (after !== undefined);
  return point;
}

export interface TrimTerms {
  readonly nowMs: number;
  /** Devices not seen for this long are not waited for; they start over when they come back. */
  readonly retentionMs: number;
}

/** How far tombstones may be forgotten as far as these devices are concerned: none of them may have to start over. */
export function trimPoint(state: PartitionState, marks: Iterable<DeviceTidemark>, terms: TrimTerms): number {
  let point = state.head;
  for (const mark of marks) {
    if (isWaitedFor(state, mark, terms)) point = Math.min(point, mark.start ?? mark.seq);
  }
  return point;
}

/** A device of another life, or of one that lost what the device has, starts over anyway. */
function isWaitedFor(state: PartitionState, mark: DeviceTidemark, terms: TrimTerms): boolean {
  const trueUpTo = isValidUpTo(state, mark.epoch);
  const isOurs = trueUpTo !== null && Math.max(mark.seq, mark.start ?? 0) <= trueUpTo;
  // One seen ahead of now was seen by a clock that has been set back: most likely lately, so it is waited for.
  return isOurs && Math.abs(terms.nowMs - mark.seenAtMs) <= terms.retentionMs;
}
