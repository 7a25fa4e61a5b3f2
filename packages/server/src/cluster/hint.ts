import { BUS_TEXT_UNITS_MAX, type CommitRange, ownerText, type PartitionKey, readOwner } from '@tidemark/core';
import { parseJson, type SyncEvents } from '@tidemark/protocol';
import type { ActivityHint } from '../activity/activity-hub.ts';
import type { SpentRequests } from '../auth/rate-limiter.ts';

/** A query to all other servers. */
export type ClusterQuery =
  /** Sends the ping if the device listens at the server; the answer is 1 or 0. */
  | { readonly kind: 'ping'; readonly client: string; readonly ping: SyncEvents['ping'] }
  /** Asks whether the device listens at the server; the answer is 1 or 0. */
  | { readonly kind: 'listening'; readonly client: string }
  /** Asks which of the devices listen at the server; the answer is their ids. */
  | { readonly kind: 'listening_of'; readonly clients: readonly string[] }
  /** Counts the devices that listen at the server. */
  | { readonly kind: 'listeners' };

/** The answer of one server to a query: a number, or a list of names. */
export type ClusterAnswer = number | readonly string[];

/** A partition, with the text of its owner. */
interface HintedPartition {
  readonly source: string;
  readonly user: string | null;
}

export function hinted({ source, owner }: PartitionKey): HintedPartition {
  return { source, user: ownerText(owner) };
}

export function partitionIn({ source, user }: HintedPartition): PartitionKey {
  return { source, owner: readOwner(user) };
}

/** A partition that changed, with what was committed, if that is known. */
export interface ChangedPartition extends HintedPartition {
  readonly range?: CommitRange;
}

/** What a device has acknowledged: partition, device, epoch and seq. */
export interface AcknowledgedState extends HintedPartition {
  readonly client: string;
  readonly epoch: string;
  readonly seq: number;
}

/** A message to all other servers. Apart from heartbeats and queries, it is a hint to look at the store again. */
export type Hint =
  /** A heartbeat with the number of hints sent so far. With `isNew` the receivers send theirs at once. */
  | { readonly kind: 'here'; readonly sent: number; readonly isNew: boolean }
  | { readonly kind: 'gone' }
  /** Null: too many partitions to name. */
  | { readonly kind: 'changed'; readonly partitions: readonly ChangedPartition[] | null }
  /** Devices have acknowledged changes at the sending server. */
  | { readonly kind: 'acknowledged'; readonly states: readonly AcknowledgedState[] }
  | { readonly kind: 'outcomes'; readonly client: string }
  /** Tokens of the user may have ended; null: of any user. */
  | { readonly kind: 'sessions'; readonly user: string | null }
  | { readonly kind: 'sources' }
  | { readonly kind: 'reset' }
  /** The device has listened at the sending server since then, and must be disconnected elsewhere. */
  | { readonly kind: 'listens'; readonly client: string; readonly atMs: number }
  /** A login failed; these are the keys of the login limiter. */
  | { readonly kind: 'login_failed'; readonly keys: readonly string[] }
  /** Requests were counted for a rate limit. */
  | ({ readonly kind: 'spent' } & SpentRequests)
  /** A ping of this caller was counted. */
  | { readonly kind: 'pinged'; readonly caller: string }
  | ActivityHint
  | { readonly kind: 'ask'; readonly id: string; readonly question: ClusterQuery }
  | { readonly kind: 'answer'; readonly id: string; readonly to: string; readonly value: ClusterAnswer };

export interface ReceivedHint {
  /** The id of the sending server. */
  readonly from: string;
  readonly hint: Hint;
}

export function writeHint({ from, hint }: ReceivedHint): string {
  return JSON.stringify({ v: VERSION, from, ...hint });
}

/** Hints of other versions, which may be present during an update, are ignored. */
const VERSION = 1;
const KINDS: ReadonlySet<unknown> = new Set<Hint['kind']>([
  ...(['here', 'gone', 'changed', 'outcomes', 'sessions', 'sources', 'reset', 'listens'] as const),
  ...(['acknowledged', 'login_failed', 'spent', 'pinged', 'watching', 'activity', 'ask', 'answer'] as const),
]);

/** Returns null if the text is no hint. Only our servers reach the bus, so the members are not validated. */
export function readHint(text: string): ReceivedHint | null {
  if (text.length > BUS_TEXT_UNITS_MAX) return null;
  try {
    const { v, from, ...hint } = parseJson(text) as { v: unknown; from: string } & Hint;
    return v === VERSION && typeof from === 'string' && KINDS.has(hint.kind) ? { from, hint } : null;
  } catch {
    return null;
  }
}
