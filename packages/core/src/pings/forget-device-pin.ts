import { readClientRecord, writeClientRecord } from '../devices/client-record.ts';
import { refs } from '../entries/refs.ts';
import { retryOnConflict } from '../entries/retry-on-conflict.ts';
import type { Store } from '../ports/store.ts';

/** Takes an address that is dead away from its device, unless the device has registered a new one meanwhile. */
export async function forgetDevicePin(store: Store, client: string, pin: string): Promise<void> {
  await retryOnConflict(async () => {
    const entry = await store.readEntry(refs.client(client));
    const record = entry === null ? null : readClientRecord(entry.value);
    if (entry === null || record === null || record.device.device_pin !== pin) return true;
    const value = writeClientRecord({ ...record, device: { ...record.device, device_pin: null } });
    const write = { ...refs.client(client), value, expect: entry.version };
    return (await store.writeEntries({ writes: [write], guards: [] })).status === 'written' ? true : null;
  });
}
