import { parseLsn } from '../replication/lsn.ts';
import type { SystemIdentity } from '../replication/replication-connection.ts';
import type { Slot } from '../replication/slot.ts';
import type { ConnectorState } from '../state/connector-state.ts';

/** How a connector begins. */
export type Start =
  | { readonly kind: 'first' }
  | { readonly kind: 'resume' }
  /** Changes may have been missed, so everything is compared. `needsSlot`: the slot has to be made anew. */
  | { readonly kind: 'heal'; readonly reason: HealReason; readonly needsSlot: boolean };

export type HealReason =
  | 'slot_lost'
  | 'other_database'
  | 'other_timeline'
  | 'position_behind_slot'
  | 'position_ahead_of_log';

/** Decides from what is stored and what the database says whether changes may have been missed. */
export function decideStart(state: ConnectorState | null, identity: SystemIdentity, slot: Slot | null): Start {
  if (state === null) return { kind: 'first' };
  const isSlotUsable = slot?.isOfThisDatabase && !isLost(slot);
  const heal = (reason: HealReason): Start => ({ kind: 'heal', reason, needsSlot: !isSlotUsable });
  if (state.systemId !== identity.systemId) return heal('other_database');
  // The slot is this connector's, because the first run refuses one of another database.
  if (slot !== null && !slot.isOfThisDatabase) return heal('other_database');
  if (slot === null || isLost(slot)) return heal('slot_lost');
  if (state.timeline !== identity.timeline) return heal('other_timeline');
  const position = parseLsn(state.position);
  // Somebody acknowledged more than is stored, as after Tidemark was restored from a backup.
  if (slot.confirmedLsn !== null && slot.confirmedLsn > position) return heal('position_behind_slot');
  if (position > identity.lsn) return heal('position_ahead_of_log');
  return { kind: 'resume' };
}

export function isLost({ walStatus, invalidationReason, restartLsn }: Slot): boolean {
  return walStatus === 'lost' || invalidationReason !== null || restartLsn === null;
}
