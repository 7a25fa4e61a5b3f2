import type { SyncEvents } from '@tidemark/protocol';
import type { SdkRule } from '../runner/violation.ts';

type Change = SyncEvents['changed'];

/** Where a bug can be planted: in what devices send and get. */
export interface SdkPlant {
  readonly request?: (host: string, path: string, init: RequestInit) => RequestInit;
  readonly answer?: (host: string, path: string, response: Response) => Promise<Response>;
  readonly event?: (change: Change, send: (change: Change) => void) => void;
}

/** A device or server with one bug. It shows that the simulation would notice a bug of that kind. */
export interface PlantedBug {
  readonly name: string;
  readonly breaks: SdkRule;
  /** Returns a new plant for each history, because it may keep state. */
  readonly plant: () => SdkPlant;
}
