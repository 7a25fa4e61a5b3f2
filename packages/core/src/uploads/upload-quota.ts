import { Refusal } from '@tidemark/protocol';
import { bytesMaxOf, quotaExceeded } from '../admission/quota.ts';
import { liveRecord } from '../documents/effect.ts';
import type { LeasedJob } from '../ports/jobs.ts';
import type { Note } from '../ports/store.ts';
import type { PreparedUpload } from './prepare-uploads.ts';
import type { StoredOutcome } from './upload-notes.ts';
import { type CommitPorts, commitPlan, refusedOutcome, type UploadPlan } from './upload-plan.ts';
import type { UploadTarget } from './upload-target.ts';

// What is remembered of uploads counts in the quota of their partition. Where there is no room for it, an upload that has
// no effect is answered and not remembered: when it comes again, it is decided anew.

export function isQuotaRefusal(error: unknown): error is Refusal {
  return error instanceof Refusal && error.code === 'quota_exceeded';
}

interface Split {
  readonly fitting: readonly PreparedUpload[];
  /** The outcomes of the others. */
  readonly rejected: ReadonlyMap<string, StoredOutcome>;
}

/**
 * Finds the uploads about which a backend may be asked: in a full partition, one deletion of each object that is there,
 * since what the backend agrees to is written without a look at the quota.
 */
export async function splitByQuota(
  { store, limits }: CommitPorts,
  { partition }: UploadTarget,
  prepared: readonly PreparedUpload[],
): Promise<Split> {
  const bytesMax = bytesMaxOf(limits, partition);
  const rejected = new Map<string, StoredOutcome>();
  if ((await store.bytes(partition)) < bytesMax) return { fitting: prepared, rejected };
  const full = quotaExceeded(partition, bytesMax);
  const deletions = prepared.filter(({ admitted }) => admitted?.op === 'delete').map(({ id }) => id);
  const { objects } = await store.readObjects(partition, [...new Set(deletions)]);
  const live = new Set([...objects].filter(([, stored]) => liveRecord(stored) !== null).map(([id]) => id));
  const fitting = prepared.filter(({ note, admitted, refusal, id, opId }) => {
    if (note !== null || (admitted?.op === 'delete' && live.delete(id))) return true;
    rejected.set(opId, refusedOutcome(id, refusal ?? full));
    return false;
  });
  return { fitting, rejected };
}

/**
 * Writes the outcome of an upload that has no effect, if there is room. That of an upload that is queued is always
 * written, and replaces what was kept for its job.
 */
export async function commitRefusal(
  ports: CommitPorts,
  target: UploadTarget,
  plan: UploadPlan,
  { job, note }: { readonly job: LeasedJob | null; readonly note: Note | null },
): Promise<boolean> {
  if (job !== null || note !== null) return commitPlan(ports, target, plan);
  try {
    return await commitPlan(ports, target, { ...plan, bytesMax: bytesMaxOf(ports.limits, target.partition) });
  } catch (error) {
    if (!isQuotaRefusal(error)) throw error;
    return true;
  }
}
