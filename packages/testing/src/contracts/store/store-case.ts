import type { Store } from '@tidemark/core';

/** What an engine brings to the contract. */
export interface StoreEngine {
  /** A new and empty store. */
  open(): Promise<Store>;
  /** Opens the place of a closed store again. Absent: the engine keeps nothing beyond `close`. */
  reopen?(closed: Store): Promise<Store>;
  /** Opens what `backup` wrote into the folder. Absent: the engine cannot be backed up. */
  openBackup?(folder: string): Promise<Store>;
  readonly capabilities: StoreCapabilities;
}

/** The bounds of the stores that `open` gives. Small ones make the tests quick and their cuts many. */
export interface StoreCapabilities {
  /** Tombstones that one `trim` forgets at most. */
  readonly gravesPerTrimMax: number;
  /** Rows that one `trimStats` forgets at most. */
  readonly rowsPerTrimMax: number;
}

/** What a case works with. */
export interface StoreBench {
  /** New and empty. */
  readonly store: Store;
  readonly capabilities: StoreCapabilities;
  /** Closes the store and opens its place again. */
  reopen(): Promise<Store>;
  /** Backs the store up and opens the copy beside it. */
  openBackup(): Promise<Store>;
}

/** One fact about every engine, as data: a suite registers it, a canary runs it on engines that are broken. */
export interface StoreCase {
  /** The rule of docs/rules.md that the fact belongs to, such as `STORE-7`. */
  readonly rule: string;
  /** Begins with the rule in brackets. */
  readonly title: string;
  /** What the engine must be able to do for the case to make sense. */
  readonly needs: 'reopen' | 'openBackup' | null;
  readonly run: (bench: StoreBench) => Promise<void>;
}

export function storeCase(title: string, run: StoreCase['run'], needs: StoreCase['needs'] = null): StoreCase {
  const rule = /^\[(STORE-\d+)\] /.exec(title)?.[1];
  if (rule === undefined) throw new Error(`a case must begin with its rule: ${title}`);
  return { rule, title, run, needs };
}
