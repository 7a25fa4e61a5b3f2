import { Refusal } from '@tidemark/protocol';
import { isoTime, isoTimeOrNull } from '../primitives/time.ts';
import type { ClientRecord, WipeRecord } from './client-record.ts';

/** The order to erase a device, in answers. */
export interface WipeView {
  readonly ordered_at: string;
  readonly ordered_by: string;
  /** Null: the device has not confirmed that it has erased its data. */
  readonly confirmed_at: string | null;
  readonly unsent_uploads: number | null;
}

/** Returns the same record when the order was given before. */
export function orderedRecord(record: ClientRecord, orderedBy: string, nowMs: number): ClientRecord {
  if (record.wipe !== undefined) return record;
  return { ...record, wipe: { orderedAtMs: nowMs, orderedBy, confirmedAtMs: null, unsentUploads: null } };
}

/** The push address goes with the data: pings to it would reach whoever has the device now. */
export function confirmedRecord(
  record: ClientRecord,
  unsentUploads: number,
  nowMs: number,
): ClientRecord & { readonly wipe: WipeRecord } {
  const { wipe } = record;
  if (wipe === undefined) throw new Refusal('wipe_not_ordered', 'nobody has ordered to erase this client');
  if (wipe.confirmedAtMs !== null) return { ...record, wipe };
  const device = { ...record.device, device_pin: null };
  return { ...record, device, wipe: { ...wipe, confirmedAtMs: nowMs, unsentUploads } };
}

export function wipeViewOf({ orderedAtMs, orderedBy, confirmedAtMs, unsentUploads }: WipeRecord): WipeView {
  return {
    ordered_at: isoTime(orderedAtMs),
    ordered_by: orderedBy,
    confirmed_at: isoTimeOrNull(confirmedAtMs),
    unsent_uploads: unsentUploads,
  };
}
