import type { DeviceTidemark, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { isValidUpTo } from './is-valid-up-to.ts';

export const RETENTION_MS_DEFAULT = 30 * 24 * 3_600_000;
const TIDEMARKS_PER_READ = 1_000;
/** Bounds the work of one call; the next call continues. */
const TRIM_STEPS_MAX = 100;

/** Deletes the tombstones that no recently seen device still needs. */
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
  let after: DeviceTidemark | undefined;
  do {
    const marks = await store.listTidemarks(partition, {
      limit: TIDEMARKS_PER_READ,
      ...(after === undefined ? {} : { after }),
    });
    point = Math.min(point, trimPoint(state, marks, terms));
    after = marks.length < TIDEMARKS_PER_READ ? undefined : marks.at(-1);
  } while (after !== undefined);
  return point;
}

export interface TrimTerms {
  readonly nowMs: number;
  /** Devices that were not seen for this long are ignored; they start over when they return. */
  readonly retentionMs: number;
}

/** Returns the seq up to which tombstones can be deleted without forcing one of these devices to start over. */
export function trimPoint(state: PartitionState, marks: Iterable<DeviceTidemark>, terms: TrimTerms): number {
  let point = state.head;
  for (const mark of marks) {
    if (isWaitedFor(state, mark, terms)) point = Math.min(point, mark.start ?? mark.seq);
  }
  return point;
}

/** A device of another epoch, or ahead of a store that lost writes, starts over in any case. */
function isWaitedFor(state: PartitionState, mark: DeviceTidemark, terms: TrimTerms): boolean {
  const trueUpTo = isValidUpTo(state, mark.epoch);
  const isOurs = trueUpTo !== null && Math.max(mark.seq, mark.start ?? 0) <= trueUpTo;
  // A time in the future was written by a clock that was ahead, most likely recently.
  return isOurs && Math.abs(terms.nowMs - mark.seenAtMs) <= terms.retentionMs;
}
