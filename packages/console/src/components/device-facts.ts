import type { ListedClient } from '@tidemark/protocol';

type Told = Pick<
  ListedClient,
  'label' | 'device_name' | 'device_platform' | 'device_system' | 'device_app_id' | 'device_app_version'
>;

/** The app of a device with its version, as far as the device told it. */
export function appOf({ device_app_id, device_app_version }: Told): string {
  return [device_app_id, device_app_version].filter(Boolean).join(' ') || 'not told';
}

/** What people call the device; null: nobody has named it. */
export function nameOf({ label, device_name }: Told): string | null {
  return label ?? device_name;
}

/** What the device runs on, as far as it told. */
export function systemOf({ device_platform, device_system }: Told): string {
  return device_system ?? device_platform ?? 'not told';
}
