import type { Table } from '../ports/local-store.ts';
import type { Platform } from '../ports/platform.ts';
import { Replica } from '../replica/replica.ts';
import { WriteQueue } from '../replica/write-queue.ts';
import { DeviceListeners } from './device-listeners.ts';

/** The data of a device and who listens to it. They outlive the roles of the device. */
export class DeviceData {
  readonly platform: Platform;
  readonly listeners = new DeviceListeners();
  readonly replica: Replica;
  readonly writes: WriteQueue;

  constructor(platform: Platform, onChanged: (tables: ReadonlySet<Table>) => void) {
    this.platform = platform;
    this.replica = new Replica(onChanged);
    this.writes = new WriteQueue(this.replica);
  }
}
