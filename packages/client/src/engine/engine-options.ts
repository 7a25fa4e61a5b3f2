import type { LocalStore } from '../ports/local-store.ts';
import type { loadEarly } from '../replica/load-early.ts';
import type { FileOptions, LoadFileWork } from './file-work.ts';
import type { LoadNetwork } from './load-network.ts';
import type { NetworkOptions } from './network-options.ts';

export interface EngineOptions extends NetworkOptions {
  readonly store: LocalStore;
  /** Loads the last results of queries before everything else; null: everything is loaded first. */
  readonly loadEarly: typeof loadEarly | null;
  readonly loadNetwork: LoadNetwork;
  readonly loadFileWork: LoadFileWork;
  readonly files: FileOptions;
}
