import type { PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { type TrimTerms, trimPoint } from './trim-point.ts';

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
