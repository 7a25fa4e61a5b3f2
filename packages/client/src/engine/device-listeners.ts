import type { SyncEvents } from '@tidemark/protocol';
import type { ShownProblem } from '../state/rows.ts';
import { Listeners } from '../view/observable.ts';

/** The events of a device by name. */
export interface DeviceEvents {
  /** An upload was rejected or is in conflict, and was rolled back. */
  readonly problem: { readonly opId: string } & ShownProblem;
  /** The backend gave an object its final id. */
  readonly linked: { readonly source: string; readonly from: string; readonly to: string };
  /** The data of a source differed from the server and is fetched again. */
  readonly healed: { readonly source: string; readonly reason: string };
  readonly ping: SyncEvents['ping'];
}

/** The listeners of a device. They outlive an engine where tabs share the device. */
export class DeviceListeners {
  readonly status = new Listeners();
  readonly queue = new Listeners();
  readonly problems = new Listeners();
  /** What the device has of files, and what is under way. */
  readonly files = new Listeners();
  readonly events: { readonly [E in keyof DeviceEvents]: Listeners<[DeviceEvents[E]]> } = {
    problem: new Listeners(),
    linked: new Listeners(),
    healed: new Listeners(),
    ping: new Listeners(),
  };
}
