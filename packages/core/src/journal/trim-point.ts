import type { DeviceTidemark, PartitionState } from '../ports/store.ts';

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

/** A device of another life starts over anyway. */
function isWaitedFor(state: PartitionState, mark: DeviceTidemark, terms: TrimTerms): boolean {
  return mark.epoch === state.epoch && terms.nowMs - mark.seenAtMs <= terms.retentionMs;
}
