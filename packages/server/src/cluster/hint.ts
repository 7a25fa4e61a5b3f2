import { BUS_TEXT_UNITS_MAX, type PartitionKey } from '@tidemark/core';
import { parseJson, type SyncEvents } from '@tidemark/protocol';

/** What one server asks all others. */
export type ClusterQuery =
  /** Does the device listen at yours? Then tell it of the ping. */
  | { readonly kind: 'ping'; readonly client: string; readonly ping: SyncEvents['ping'] }
  /** How many devices listen at yours? */
  | { readonly kind: 'listeners' };

/** What one server tells the others. Each is a hint to look at the store, or at nothing at all. */
export type Hint =
  /** I am here, and have told so much so far. `isNew`: whoever hears this for the first time answers. */
  | { readonly kind: 'here'; readonly told: number; readonly isNew: boolean }
  | { readonly kind: 'gone' }
  /** Null: more than could be named. */
  | { readonly kind: 'changed'; readonly partitions: readonly PartitionKey[] | null }
  | { readonly kind: 'outcomes'; readonly client: string }
  /** Tokens of the user may have ended; null: of anybody. */
  | { readonly kind: 'sessions'; readonly user: string | null }
  | { readonly kind: 'sources' }
  | { readonly kind: 'reset' }
  /** The device listens here since then, and nowhere else any more. */
  | { readonly kind: 'listens'; readonly client: string; readonly atMs: number }
  /** By what the login limiter counts them. */
  | { readonly kind: 'login_failed'; readonly keys: readonly string[] }
  /** A ping of this caller was let through. */
  | { readonly kind: 'pinged'; readonly caller: string }
  | { readonly kind: 'ask'; readonly id: string; readonly question: ClusterQuery }
  | { readonly kind: 'answer'; readonly id: string; readonly to: string; readonly value: number };

export interface ReceivedHint {
  /** The server that tells it, by a word that no other has. */
  readonly from: string;
  readonly hint: Hint;
}

export function writeHint({ from, hint }: ReceivedHint): string {
  return JSON.stringify({ v: VERSION, from, ...hint });
}

/** Servers of another version may be about during an update: what they say in other words is passed over. */
const VERSION = 1;
const KINDS: ReadonlySet<unknown> = new Set<Hint['kind']>([
  ...(['here', 'gone', 'changed', 'outcomes', 'sessions', 'sources', 'reset', 'listens'] as const),
  ...(['login_failed', 'pinged', 'ask', 'answer'] as const),
]);

/** Null: it is none. Only servers of ours reach the bus, so nothing more is looked at. */
export function readHint(text: string): ReceivedHint | null {
  if (text.length > BUS_TEXT_UNITS_MAX) return null;
  try {
    const { v, from, ...hint } = parseJson(text) as { v: unknown; from: string } & Hint;
    return v === VERSION && typeof from === 'string' && KINDS.has(hint.kind) ? { from, hint } : null;
  } catch {
    return null;
  }
}
