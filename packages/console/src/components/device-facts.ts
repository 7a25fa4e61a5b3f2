import type { Client, NamedClient } from '@tidemark/protocol';

type Told = Pick<
  NamedClient,
  'label' | 'device_name' | 'device_platform' | 'device_system' | 'device_app_id' | 'device_app_version'
>;

/** The app of a device with its version, as far as the device told it. */
export function appOf({ device_app_id, device_app_version }: Told): string {
  return [device_app_id, device_app_version].filter(Boolean).join(' ') || 'not told';
}

/** The versions of the schemas that the app was built with, as far as the device told them. */
export function versionsOf({ schema_versions }: Pick<Client, 'schema_versions'>): string {
  const versions = Object.entries(schema_versions ?? {}).map(([source, version]) => `${source} ${version}`);
  return versions.join(', ') || 'not told';
}

/** What people call the device; null: nobody has named it. */
export function nameOf({ label, device_name }: Told): string | null {
  return label ?? device_name;
}

/** The name of the device, or what it runs on and its app; null: nothing is known of it. */
export function shownNameOf(device: Told): string | null {
  const { device_platform, device_system, device_app_id, device_app_version } = device;
  const app = [device_app_id, device_app_version].filter(Boolean).join(' ');
  return nameOf(device) ?? ([device_system ?? device_platform, app].filter(Boolean).join(' · ') || null);
}

/** What the device runs on, as far as it told. */
export function systemOf({ device_platform, device_system }: Told): string {
  return device_system ?? device_platform ?? 'not told';
}
