import { type DeviceType, type PushType, parseJson } from '@tidemark/protocol';

/** What a device says about itself. */
export interface Device {
  readonly device_type: DeviceType | null;
  readonly device_pin: string | null;
  readonly device_port: string | null;
  /** How the device wants to be reached; null: as its type says. */
  readonly device_push_type: PushType | null;
  readonly device_app_id: string | null;
  readonly device_app_version: string | null;
  readonly phone_id: string | null;
}

export interface ClientRecord {
  readonly user: string;
  readonly device: Device;
  readonly createdAtMs: number;
  readonly lastSyncMs: number | null;
  /** Source → how often the device has been told to start over with it. Tokens from before are void. */
  readonly restarts: Readonly<Record<string, number>>;
}

export const BLANK_DEVICE: Device = {
  device_type: null,
  device_pin: null,
  device_port: null,
  device_push_type: null,
  device_app_id: null,
  device_app_version: null,
  phone_id: null,
};

export function readClientRecord(text: string): ClientRecord {
  const record = parseJson(text) as Omit<ClientRecord, 'restarts'> & Partial<ClientRecord>;
  return { ...record, restarts: record.restarts ?? {} };
}

export function writeClientRecord(record: ClientRecord): string {
  return JSON.stringify(record);
}
