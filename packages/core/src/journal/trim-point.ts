import type { DeviceTidemark, PartitionState } from '../ports/store.ts';
import { isValidUpTo } from './is-valid-up-to.ts';

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
