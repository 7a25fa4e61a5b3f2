import type { LocalStore } from '../ports/local-store.ts';
import type { loadEarly } from '../replica/load-early.ts';
import type { Replica } from '../replica/replica.ts';
import type { Pause } from '../state/in-steps.ts';
import type { FileOptions, LoadFileWork } from './file-work.ts';
import type { LoadNetwork } from './load-network.ts';
import type { NetworkOptions } from './network-options.ts';

export interface OpenDisk extends Pick<LocalStore, 'load'> {
  readonly open: (replica: Replica, pause: Pause) => Promise<void>;
}

export interface EngineOptions extends NetworkOptions {
  readonly store: LocalStore;
  /** Loads the last results of queries before everything else; null: everything is loaded first. */
  readonly loadEarly: typeof loadEarly | null;
  /** Loads and opens a store that can keep sources on the disk; null: this one cannot. */
  readonly disk: OpenDisk | null;
  readonly loadNetwork: LoadNetwork;
  readonly loadFileWork: LoadFileWork;
  readonly files: FileOptions;
}
