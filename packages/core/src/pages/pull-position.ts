import { isValidUpTo } from '../journal/is-valid-up-to.ts';
import type { PartitionKey, PartitionState } from '../ports/store.ts';
import { type Baseline, isCatchingUp, readToken, type Token } from './token.ts';

/** What a device presents to one partition. */
export interface PresentedToken {
  readonly partition: PartitionKey;
  /** Null: the device holds nothing. */
  readonly token: string | null;
  /** How often the device has been told to start over. */
  readonly restarts: number;
}

/** Where a device stands in a partition: its token, read against the state of the partition. */
export interface PullPosition {
  readonly partition: PartitionKey;
  /** The token as the device presented it. */
  readonly presented: string | null;
  readonly token: Token | null | 'unreadable';
  readonly restarts: number;
  readonly state: PartitionState;
  /** Where the next page begins in this state. */
  readonly start: PageStart;
  /** Whether there is anything to send. */
  readonly hasNews: boolean;
  /** Whether a page would say nothing beyond the token that the device presented: it has caught up, and keeps its token. */
  readonly keepsToken: boolean;
}

export type ResetReason = 'new_device' | 'unreadable' | 'epoch' | 'ahead' | 'trimmed' | 'restarted';

/** Where the next page begins. */
export type PageStart =
  | { readonly kind: 'reset'; readonly reason: ResetReason }
  | { readonly kind: 'continue'; readonly after: number; readonly baseline: Baseline };

export function positionAt(state: PartitionState, { partition, token: text, restarts }: PresentedToken): PullPosition {
  const token = text === null ? null : (readToken(text) ?? 'unreadable');
  const start = pageStartOf(token, state, restarts);
  const hasNews = start.kind === 'reset' || start.after !== state.head;
  const isCaughtUp = !hasNews && start.baseline.kind === 'base' && start.baseline.seq === start.after;
  // A token of an earlier epoch is replaced, even if it is still good.
  const keepsToken = isCaughtUp && (token as Token).epoch === state.epoch;
  return { partition, presented: text, token, restarts, state, start, hasNews, keepsToken };
}

/** `token` is null when the device has none. `restarts` says how often the device has been told to start over. */
export function pageStartOf(token: Token | null | 'unreadable', partition: PartitionState, restarts = 0): PageStart {
  if (token === null) return { kind: 'reset', reason: 'new_device' };
  if (token === 'unreadable') return { kind: 'reset', reason: 'unreadable' };
  const validUpTo = isValidUpTo(partition, token.epoch);
  if (validUpTo === null) return { kind: 'reset', reason: 'epoch' };
  if (token.restarts !== restarts) return { kind: 'reset', reason: 'restarted' };
  if (knownUpTo(token, partition) > validUpTo) return { kind: 'reset', reason: 'ahead' };
  if (isTrimmed(partition, token)) return { kind: 'reset', reason: 'trimmed' };
  return { kind: 'continue', after: token.seq, baseline: token.baseline };
}

/**
 * The seq up to which the journal must still be what it was when the token was given. A token of an earlier version does
 * not say where a catch-up was read, so it is good in its own epoch only.
 */
function knownUpTo(token: Token, { epoch }: PartitionState): number {
  const { seq, baseline, head } = token;
  if (head !== undefined) return head;
  const isUnknown = isCatchingUp(token) && token.epoch !== epoch;
  return isUnknown ? Number.POSITIVE_INFINITY : Math.max(seq, baseline.seq);
}

/** Whether a tombstone that the device needs may be gone. A device that starts over needs those made since it began. */
function isTrimmed({ floor }: PartitionState, { seq, baseline }: Token): boolean {
  return (baseline.kind === 'start' ? baseline.seq : seq) < floor;
}
