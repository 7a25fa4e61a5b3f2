import { Refusal } from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import { isoTime, isoTimeOrNull } from '../primitives/time.ts';
import { BLANK_DEVICE, type ClientRecord, type Device } from './client-record.ts';
import { type WipeView, wipeViewOf } from './wipe-order.ts';

/** A client in answers. `device_pin` is a secret; the server masks it for callers who may not see it. */
export interface ClientView extends Device {
  readonly client_id: string;
  readonly user_id: string;
  /** What administrators call the device; null: nothing. */
  readonly label: string | null;
  readonly last_sync: string | null;
  readonly created_at: string;
  /** The order to erase the device; null: there is none. */
  readonly wipe: WipeView | null;
}

export function clientViewOf(
  id: string,
  { user, device, label, createdAtMs, lastSyncMs, wipe }: ClientRecord,
): ClientView {
  const times = { last_sync: isoTimeOrNull(lastSyncMs), created_at: isoTime(createdAtMs) };
  // Devices that were registered by earlier versions have fewer attributes.
  const whole = { ...BLANK_DEVICE, ...device };
  return {
    client_id: id,
    user_id: user,
    label: label ?? null,
    ...whole,
    ...times,
    wipe: wipe === undefined ? null : wipeViewOf(wipe),
  };
}

export function clientWiped(id: string): Refusal {
  return new Refusal('client_wiped', `an administrator has ordered to erase the client ${quoted(id)}`);
}

export function clientNotFound(id: string): Refusal {
  return new Refusal('client_not_found', `there is no client ${quoted(id)}`);
}
