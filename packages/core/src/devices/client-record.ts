import { type DeviceType, type PushType, parseJson } from '@tidemark/protocol';

/** The attributes a device gives itself. */
export interface Device {
  readonly device_type: DeviceType | null;
  readonly device_pin: string | null;
  readonly device_port: string | null;
  /** The push service to use; null: the one that fits the device type. */
  readonly device_push_type: PushType | null;
  readonly device_app_id: string | null;
  readonly device_app_version: string | null;
  readonly phone_id: string | null;
  /** The name that the app or the user gave the device. */
  readonly device_name: string | null;
  /** What the app runs on, such as `web`, `node`, `ios` or `android`. */
  readonly device_platform: string | null;
  /** The browser or operating system, with its version. */
  readonly device_system: string | null;
  /** Source → the version of its schema that the app was built with; null: the app says nothing. */
  readonly schema_versions: Readonly<Record<string, number>> | null;
}

export interface ClientRecord {
  readonly user: string;
  readonly device: Device;
  readonly createdAtMs: number;
  readonly lastSyncMs: number | null;
  /** Source → how often the device was told to start over with it. Older tokens are invalid. */
  readonly restarts: Readonly<Record<string, number>>;
  /** What administrators call the device; absent: nothing. */
  readonly label?: string;
  /** The order to erase the device; absent: there is none. */
  readonly wipe?: WipeRecord;
}

export interface WipeRecord {
  readonly orderedAtMs: number;
  /** The login of the administrator. */
  readonly orderedBy: string;
  /** Null: the device has not confirmed that it has erased its data. */
  readonly confirmedAtMs: number | null;
  /** Changes made on the device that were lost, as the device says. */
  readonly unsentUploads: number | null;
}

export const BLANK_DEVICE: Device = {
  device_type: null,
  device_pin: null,
  device_port: null,
  device_push_type: null,
  device_app_id: null,
  device_app_version: null,
  phone_id: null,
  device_name: null,
  device_platform: null,
  device_system: null,
  schema_versions: null,
};

export function readClientRecord(text: string): ClientRecord {
  const record = parseJson(text) as Omit<ClientRecord, 'restarts'> & Partial<ClientRecord>;
  return { ...record, restarts: record.restarts ?? {} };
}

export function writeClientRecord(record: ClientRecord): string {
  return JSON.stringify(record);
}

/** When the device was last here. It registers at its first sign-in, before its first pull. */
export function lastContactMs({ lastSyncMs, createdAtMs }: ClientRecord): number {
  return lastSyncMs ?? createdAtMs;
}

/** When the device of this entry last synchronised; null: never. */
export function lastSyncMsOf(text: string): number | null {
  return readClientRecord(text).lastSyncMs;
}
