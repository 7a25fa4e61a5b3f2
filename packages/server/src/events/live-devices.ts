import type { SyncEvents } from '@tidemark/protocol';

/** Devices that listen at this moment, at whichever server. */
export interface LiveDevices {
  /** Tells the device of a ping. False: it does not listen, or does not keep up. */
  ping(client: string, ping: SyncEvents['ping']): boolean | Promise<boolean>;
}
