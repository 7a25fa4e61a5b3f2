import type { Device, LocalRow } from '@tidemark/client';
import { type PushRequest, parseJson, type SyncEvents } from '@tidemark/protocol';
import type { Corrupt } from '../faults/fault-proxy.ts';
import type { DiskPlant } from '../model/disk-files.ts';
import type { ModelPartition } from '../model/partition.ts';
import type { ObjectsGiven } from '../model/write.ts';

/** Where a history runs: a server, a network with faults, and devices that can be killed. */
export interface Environment {
  /** The requests that reached the server. */
  readonly requests: RequestLog;
  /** Opens the device with what it stored before, signed in. */
  openDevice(index: number): Promise<Device>;
  /** Kills the process of the device: it keeps what it has stored by now. */
  killDevice(index: number, device: Device): Promise<void>;
  /** Kills the server and starts it again. */
  killServer(): Promise<void>;
  put(partition: ModelPartition, objects: ObjectsGiven): Promise<void>;
  delete(partition: ModelPartition, ids: readonly string[]): Promise<void>;
  read(partition: ModelPartition): Promise<ObjectsGiven>;
  /** Turns the faults of the network on or off. */
  setFaults(areOn: boolean): void;
  /** Lets server and devices work for a while. */
  wait(turns: number): Promise<void>;
  /** Waits for a promise while everything else goes on. */
  finish<T>(promise: Promise<T>): Promise<T>;
  close(): Promise<void>;
}

export interface EnvironmentOptions {
  readonly seed: number;
  /** The user of each device. */
  readonly users: readonly string[];
  readonly pageObjects: number;
}

export type OpenEnvironment = (options: EnvironmentOptions) => Promise<Environment>;

/** Where a bug can be planted. */
export interface Plant {
  /** Changes events on their way to a device. */
  readonly event?: (change: SyncEvents['changed']) => SyncEvents['changed'];
  /** Changes what devices send. */
  readonly corrupt?: Corrupt;
  /** Changes what a device finds in its store after it was killed. */
  readonly damage?: (rows: readonly LocalRow[]) => readonly LocalRow[];
  /** Changes the store of the device whose sources are on the disk. */
  readonly disk?: DiskPlant;
}

/** An upload that reached the server, whether or not the device got the answer. */
export interface SeenUpload {
  readonly device: number;
  readonly opId: string;
  /** The whole upload as JSON. */
  readonly text: string;
}

/** Counts pulls and keeps uploads that reached the server. */
export class RequestLog {
  readonly uploads: SeenUpload[] = [];
  readonly #pulls = new Map<number, number>();

  pulls(device: number): number {
    return this.#pulls.get(device) ?? 0;
  }

  record(device: number, path: string, body: string): void {
    if (path.endsWith('/pull')) this.#pulls.set(device, this.pulls(device) + 1);
    if (!path.endsWith('/push')) return;
    for (const upload of (parseJson(body) as PushRequest).changes) {
      this.uploads.push({ device, opId: upload.op_id, text: JSON.stringify(upload) });
    }
  }
}
