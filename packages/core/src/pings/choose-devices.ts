import { type PushType, pushTypeOf } from '@tidemark/protocol';
import type { ClientRecord } from '../devices/client-record.ts';

export interface PingDevice {
  readonly client: string;
  readonly record: ClientRecord;
}

/** Why a device of a user gets no ping. */
export type SkipReason =
  | 'no_device_type'
  | 'device_type_none'
  | 'no_device_pin'
  | 'duplicate'
  /** Of a ping with `only_behind`. */
  | 'up_to_date'
  | 'queue_full';

export interface SkippedDevice {
  readonly client_id: string;
  readonly reason: SkipReason;
}

export interface DeviceChoice {
  readonly chosen: readonly PingDevice[];
  readonly skipped: readonly SkippedDevice[];
}

/**
 * Chooses the devices of a ping, each piece of hardware once. Two registrations are of the same device when they name the
 * same phone and app; where one of them names none, when they have the same address. The one that synced last is chosen:
 * the others are left over from reinstalled apps. Devices without an address are chosen if they are `listening`.
 */
export function chooseDevices(
  devices: readonly PingDevice[],
  listening: ReadonlySet<string> = new Set(),
): DeviceChoice {
  const chosen: PingDevice[] = [];
  const skipped: SkippedDevice[] = [];
  const seen = new SeenDevices();
  for (const device of [...devices].sort(byLastSync)) {
    const isListening = isWithoutAddress(device) && listening.has(device.client);
    const reason = (isListening ? null : unreachable(device)) ?? (seen.has(device) ? 'duplicate' : null);
    if (reason !== null) skipped.push({ client_id: device.client, reason });
    else {
      seen.add(device);
      chosen.push(device);
    }
  }
  return { chosen, skipped };
}

/** True if only an open connection can bring the device a ping. Devices of the type `none` want no pings at all. */
export function isWithoutAddress(device: PingDevice): boolean {
  const reason = unreachable(device);
  return reason === 'no_device_type' || reason === 'no_device_pin';
}

/** Why the device cannot be reached by its push service; null: it can. */
export function unreachable({ record: { device } }: PingDevice): SkipReason | null {
  const type = pushTypeOf(device);
  if (type === null) return 'no_device_type';
  if (type === 'none') return 'device_type_none';
  if (NEEDS_NO_PIN.has(type)) return null;
  return device.device_pin === null || device.device_pin === '' ? 'no_device_pin' : null;
}

/** Push types that use an open connection instead of an address. */
const NEEDS_NO_PIN: ReadonlySet<PushType> = new Set(['live']);

class SeenDevices {
  readonly #phones = new Set<string>();
  readonly #pins = new Set<string>();
  readonly #pinsWithoutPhone = new Set<string>();

  has(device: PingDevice): boolean {
    const phone = phoneOf(device);
    const pin = pinOf(device);
    if (phone === null && pin === '') return false;
    return phone === null ? this.#pins.has(pin) : this.#phones.has(phone) || this.#pinsWithoutPhone.has(pin);
  }

  add(device: PingDevice): void {
    const phone = phoneOf(device);
    const pin = pinOf(device);
    // Devices without an address are not duplicates of each other.
    if (pin !== '') this.#pins.add(pin);
    if (phone !== null) this.#phones.add(phone);
    else if (pin !== '') this.#pinsWithoutPhone.add(pin);
  }
}

function pinOf({ record }: PingDevice): string {
  return record.device.device_pin ?? '';
}

/** Returns a key of phone and app; null when one of them is missing. */
function phoneOf({ record }: PingDevice): string | null {
  const { phone_id: phone, device_app_id: app } = record.device;
  return phone === null || phone === '' || app === null || app === '' ? null : JSON.stringify([phone, app]);
}

function byLastSync(left: PingDevice, right: PingDevice): number {
  const never = Number.NEGATIVE_INFINITY;
  const leftSync = left.record.lastSyncMs ?? never;
  const rightSync = right.record.lastSyncMs ?? never;
  if (leftSync !== rightSync) return leftSync > rightSync ? -1 : 1;
  if (left.record.createdAtMs !== right.record.createdAtMs) return right.record.createdAtMs - left.record.createdAtMs;
  return left.client < right.client ? -1 : 1;
}
