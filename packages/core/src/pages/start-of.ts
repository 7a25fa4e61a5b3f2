import { isTrueUpTo } from '../journal/is-true-up-to.ts';
import type { PartitionState } from '../ports/store.ts';
import type { Foothold, Token } from './token.ts';

export type ResetReason = 'new_device' | 'unreadable' | 'epoch' | 'ahead' | 'trimmed' | 'told';

/** Where the next page begins. */
export type PageStart =
  | { readonly kind: 'reset'; readonly reason: ResetReason }
  | { readonly kind: 'continue'; readonly after: number; readonly foothold: Foothold };

/**
 * `token` null: the device has none; 'unreadable': it has one that says nothing. `restarts`: how often it has been told
 * to start over by now.
 */
export function startOf(token: Token | null | 'unreadable', partition: PartitionState, restarts = 0): PageStart {
  if (token === null) return { kind: 'reset', reason: 'new_device' };
  if (token === 'unreadable') return { kind: 'reset', reason: 'unreadable' };
  const trueUpTo = isTrueUpTo(partition, token.epoch);
  if (trueUpTo === null) return { kind: 'reset', reason: 'epoch' };
  if (token.restarts !== restarts) return { kind: 'reset', reason: 'told' };
  if (Math.max(token.seq, token.foothold.seq) > trueUpTo) return { kind: 'reset', reason: 'ahead' };
  if (hasForgotten(partition, token)) return { kind: 'reset', reason: 'trimmed' };
  return { kind: 'continue', after: token.seq, foothold: token.foothold };
}

/** Whether a tombstone the device still needs may be gone. Whoever starts over needs those made since it began. */
function hasForgotten(partition: PartitionState, { seq, foothold }: Token): boolean {
  return (foothold.kind === 'start' ? foothold.seq : seq) < partition.floor;
}
