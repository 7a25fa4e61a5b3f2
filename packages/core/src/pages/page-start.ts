import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import type { PartitionState } from '../ports/store.ts';
import type { Baseline, Token } from './token.ts';

export type ResetReason = 'new_device' | 'unreadable' | 'epoch' | 'ahead' | 'trimmed' | 'told';

/** Where the next page begins. */
export type PageStart =
  | { readonly kind: 'reset'; readonly reason: ResetReason }
  | { readonly kind: 'continue'; readonly after: number; readonly baseline: Baseline };

/**
 * `token` null: the device has none; 'unreadable': it has one that says nothing. `restarts`: how often it has been told
 * to start over by now.
 */
export function pageStartOf(token: Token | null | 'unreadable', partition: PartitionState, restarts = 0): PageStart {
  if (token === null) return { kind: 'reset', reason: 'new_device' };
  if (token === 'unreadable') return { kind: 'reset', reason: 'unreadable' };
  const trueUpTo = isValidUpTo(partition, token.epoch);
  if (trueUpTo === null) return { kind: 'reset', reason: 'epoch' };
  if (token.restarts !== restarts) return { kind: 'reset', reason: 'told' };
  if (Math.max(token.seq, token.baseline.seq) > trueUpTo) return { kind: 'reset', reason: 'ahead' };
  if (hasForgotten(partition, token)) return { kind: 'reset', reason: 'trimmed' };
  return { kind: 'continue', after: token.seq, baseline: token.baseline };
}

/** Whether a tombstone the device still needs may be gone. Whoever starts over needs those made since it began. */
function hasForgotten(partition: PartitionState, { seq, baseline }: Token): boolean {
  return (baseline.kind === 'start' ? baseline.seq : seq) < partition.floor;
}
