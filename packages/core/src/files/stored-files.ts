import { parseJson } from '@tidemark/protocol';
import { allEntries } from '../entries/all-entries.ts';
import { refs } from '../entries/refs.ts';
import type { Store } from '../ports/store.ts';
import { isStored } from './file-arrivals.ts';
import { type FileRecord, readFile, readUsage } from './file-entries.ts';

/** Where the bytes of files are kept, as the store knows it. */
export interface FilePlace {
  /** Differs between two places, and never changes for one of them. */
  readonly id: string;
  /** For people. */
  readonly place: string;
}

/** A place with the time since which it is that of the store. */
export interface KnownFilePlace extends FilePlace {
  readonly sinceMs: number;
}

/** Yields the files whose bytes are here, by their hash. */
export async function* storedFiles(store: Store): AsyncGenerator<{ readonly sha256: string; readonly size: number }> {
  for await (const { key, value } of allEntries(store, 'file', [])) {
    const record = parseJson(value) as FileRecord;
    if (isStored(record)) yield { sha256: key[0] ?? '', size: record.size };
  }
}

export async function isFileStored(store: Store, sha256: string): Promise<boolean> {
  return isStored((await readFile(store, sha256)).value);
}

export async function hasStoredFiles(store: Store): Promise<boolean> {
  return ((await readUsage(store, null)).value?.files ?? 0) > 0;
}

/** Null: no server has noted it yet. */
export async function readFilePlace(store: Store): Promise<KnownFilePlace | null> {
  const entry = await store.readEntry(refs.filePlace);
  return entry === null ? null : (parseJson(entry.value) as KnownFilePlace);
}

export async function writeFilePlace(store: Store, { id, place }: FilePlace, sinceMs: number): Promise<void> {
  const value = JSON.stringify({ id, place, sinceMs });
  await store.writeEntries({ writes: [{ ...refs.filePlace, value }], guards: [] });
}
