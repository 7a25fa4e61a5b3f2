import type { Store } from '@tidemark/core';
import type { DeviceFaults, GroupDevice } from './group-device.ts';
import type { GroupModel } from './group-model.ts';
import type { GroupCalls, GroupServer } from './group-server.ts';

/** What a planted bug may look at. */
export interface PlantSeam {
  readonly server: GroupServer;
  readonly model: GroupModel;
  readonly devices: readonly GroupDevice[];
  /** Devices that have erased everything because they were told to. */
  readonly wiped: readonly GroupDevice[];
}

/** Where a bug can be planted. */
export interface GroupPlant {
  readonly store?: (store: Store) => Store;
  readonly device?: DeviceFaults;
  /** Replaces calls. `calls` are those without the bug. */
  readonly calls?: (calls: GroupCalls, seam: PlantSeam) => Partial<GroupCalls>;
}
