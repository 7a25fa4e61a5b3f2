import type { EntryWrite, Store } from '../ports/store.ts';
import { allEntries } from './all-entries.ts';
import { type OwnerKind, PRESENT, refs } from './refs.ts';

/**
 * The version of an owner (a user, a device, a source) before its devices or tokens were listed. Everyone who adds
 * something to the owner raises the version, so a deletion that expects it misses nothing.
 */
export interface OwnerVersion {
  readonly kind: OwnerKind;
  readonly name: string;
  /** 0: there was none. */
  readonly version: number;
}

/** Read this before listing: the list is complete only if the version is the same when the caller writes. */
export async function readOwnerVersion(store: Store, kind: OwnerKind, name: string): Promise<OwnerVersion> {
  const entry = await store.readEntry(refs.ownerVersion(kind, name));
  return { kind, name, version: entry?.version ?? 0 };
}

/** Raises the version of the owner. It expects no version, so callers that add at the same time never conflict. */
export function ownerTouched(kind: OwnerKind, name: string): EntryWrite {
  return { ...refs.ownerVersion(kind, name), value: PRESENT };
}

/** Fails the batch if something was added since `version` was read. The owner stays. */
export function ownerUnchanged({ kind, name, version }: OwnerVersion): EntryWrite {
  return { ...refs.ownerVersion(kind, name), value: PRESENT, expect: version };
}

/** Fails the batch if something was added since `version` was read. The owner is removed. */
export function ownerRemoved({ kind, name, version }: OwnerVersion): EntryWrite {
  return { ...refs.ownerVersion(kind, name), value: null, expect: version };
}

export async function clientsOf(store: Store, login: string): Promise<string[]> {
  const ids: string[] = [];
  for await (const { key } of allEntries(store, 'user_client', [login])) ids.push(lastOf(key));
  return ids;
}

export function lastOf(key: readonly string[]): string {
  const last = key.at(-1);
  if (last === undefined) throw new Error('an entry without a key');
  return last;
}
