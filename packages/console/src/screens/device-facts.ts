import type { Client } from '@tidemark/protocol';

/** The app of a device with its version, as far as the device told it. */
export function appOf({ device_app_id, device_app_version }: Client): string {
  return [device_app_id, device_app_version].filter(Boolean).join(' ') || 'not told';
}
