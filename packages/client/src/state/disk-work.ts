import type { JsonValue } from '@tidemark/protocol';
import type { DiskChanges, LocalKey, Union } from '../ports/local-store.ts';

/** What becomes of all objects of a source on the disk at once: they are gone, or others have taken their place. */
export type Remade = 'emptied' | 'replaced';

/** Objects on the disk are read before a transaction decides about them, because a decision does not wait. */
export interface RowsRead {
  /** Reads objects, each once. */
  read(keys: readonly LocalKey[]): Promise<void>;
  /** Returns an object; undefined: there is none. Throws if it was not read. */
  get(key: LocalKey): JsonValue | undefined;
}

/** What a transaction does with sources on the disk. */
export interface DiskWork extends RowsRead {
  /** True for the objects of such a source, of its groups, and who owns them. */
  has(first: string): boolean;
  drop(first: string): void;
  dropAll(): void;
  /** The objects of the first take the place of those of the second. */
  move(from: string, to: string): void;
  /** Makes the objects of a source anew from those of its groups. */
  unite(union: Union): void;
  /** Undefined: nothing beside single writes. */
  readonly changes: DiskChanges | undefined;
  /** The sources of which all objects change. */
  readonly remade: ReadonlyMap<string, Remade>;
}

/** Which sources are on the disk. */
export interface OnDisk {
  has(first: string): boolean;
  begin(): DiskWork;
}
