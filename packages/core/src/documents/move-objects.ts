import type { MoveWrite } from '../admission/admit-write.ts';
import type { Admitted } from '../admission/admitted.ts';
import { bytesMaxOf, type QuotaLimits, quotaExceeded } from '../admission/quota.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import type { Clock } from '../ports/clock.ts';
import type { Change, Commit, Kept, PartitionKey, PartitionState, Store } from '../ports/store.ts';
import { retryOnConflict } from '../primitives/retry-on-conflict.ts';
import { changeOf, liveRecord } from './effect.ts';
import { replaced } from './verdicts.ts';

/** What a move has committed to one of its two partitions. */
export interface MovedPart {
  readonly partition: PartitionKey;
  readonly state: PartitionState;
  readonly changed: number;
}

export interface MoveOutcome {
  /** Objects that are in the target now, and not in the partition they came from. */
  readonly moved: number;
  /** Ids that were not in the partition. */
  readonly missing: number;
  readonly from: MovedPart;
  readonly to: MovedPart;
}

/**
 * Moves objects between two partitions of a source. They are added to the target before they are removed, so that
 * whoever sees the removal finds the addition. If the server dies in between they are in both, and repeating the call
 * completes it. A removal expects the version that was copied: an object that changed meanwhile is copied again.
 */
export async function moveObjects(
  store: Store,
  clock: Clock,
  quota: QuotaLimits,
  { from, to, guards, ids }: Admitted<MoveWrite>,
): Promise<MoveOutcome> {
  const commit = async (call: Commit): Promise<MovedPart | null> => {
    const { partition, changes } = call;
    if (changes.length === 0) return { partition, state: await store.partition(partition), changed: 0 };
    const bytesMax = bytesMaxOf(quota, partition);
    const result = await store.commit({ ...call, bytesMax, atMs: clock.nowMs() });
    if (result.status === 'gone') throw refuseGone(result.guard);
    if (result.status === 'too_large') throw quotaExceeded(partition, bytesMax);
    return result.status === 'committed' ? { partition, state: result.state, changed: changes.length } : null;
  };
  return retryOnConflict(
    async () => {
      const source = await store.readObjects(from, [...ids]);
      const live = [...ids].flatMap((id) => {
        const stored = source.objects.get(id);
        const record = liveRecord(stored);
        return stored === undefined || record === null ? [] : { id, stored, record };
      });
      const { state, objects } = await store.readObjects(
        to,
        live.map(({ id }) => id),
      );
      const additions: Change[] = [];
      const kept: Kept[] = [];
      for (const { id, record } of live) {
        const stored = objects.get(id);
        const current = liveRecord(stored);
        const verdict = replaced(current?.attributes ?? null, record.attributes);
        const change = changeOf(id, { stored, current }, verdict, state.floor);
        if (change === null) kept.push({ id, expect: stored?.seq ?? 0 });
        else additions.push(change);
      }
      const added = await commit({ partition: to, changes: additions, kept, guards, seen: state });
      if (added === null) return null;
      const removals = live.map(({ id, stored }) => ({ id, record: null, checksum: 0, expect: stored.seq }));
      const removed = await commit({ partition: from, changes: removals, guards, seen: source.state });
      if (removed === null) return null;
      return { moved: live.length, missing: ids.size - live.length, from: removed, to: added };
    },
    { subject: 'the same objects' },
  );
}
