import { COMMIT_ATTEMPTS_MAX, Refusal } from '@tidemark/protocol';
import { quotaExceeded } from '../admission/quota.ts';
import { refuseGone } from '../admission/refuse-gone.ts';
import type { Clock } from '../ports/clock.ts';
import type { Commit, PartitionKey, Store } from '../ports/store.ts';
import type { RoundPlan } from './plan-round.ts';
import type { UploadTarget } from './upload-target.ts';

export interface CommitPorts {
  readonly store: Store;
  readonly clock: Clock;
  /** Told after something has changed, and is durable. */
  readonly onCommitted: (partition: PartitionKey) => void;
}

/** Writes what was planned, in one step. False: something is not as it was seen. */
export async function commitPlan(
  { store, clock, onCommitted }: CommitPorts,
  { partition, guards, client }: UploadTarget,
  plan: Omit<RoundPlan, 'outcomes'> & Pick<Commit, 'bytesMax'>,
): Promise<boolean> {
  const { writes, ...effect } = plan;
  const notes = { client, writes, nowMs: clock.nowMs() };
  const result = await store.commit({ partition, guards, notes, ...effect });
  if (result.status === 'gone') throw refuseGone(result.guard);
  if (result.status === 'too_large') throw quotaExceeded(partition, plan.bytesMax ?? 0);
  if (result.status === 'conflict') return false;
  if (plan.changes.length > 0) onCommitted(partition);
  return true;
}

/** Tries until an attempt gives something. Null means that somebody else was faster and the attempt must look again. */
export async function persistPlan<T>(attempt: () => Promise<T | null>): Promise<T> {
  for (let count = 0; count < COMMIT_ATTEMPTS_MAX; count++) {
    const result = await attempt();
    if (result !== null) return result;
  }
  throw new Refusal('write_conflict', `other writers changed the same objects ${COMMIT_ATTEMPTS_MAX} times in a row`);
}
