import type { FileIndex, FileList, PartitionKey } from '@tidemark/core/ports';
import { type EngineContext, yieldAfterRead } from './engine-context.ts';
import { behind, keyOf, NUMBER_BYTES, type ObjectKey, textsOf } from './keys.ts';
import { readPartition } from './partitions.ts';
import { removeRange, type Tables } from './tables.ts';

// The files that objects refer to, twice: by object, so that a commit knows what an object referred to before, and by file.
// A partition without any has nothing here, and its row says so, so that its commits do not look.

const HASH_UNITS = 64;

export function fileIndex({ read }: EngineContext): FileIndex {
  return {
    async objectsWithFile(key, sha256, limit) {
      const ids = objectsWithFile(read(), key, sha256, limit);
      await yieldAfterRead(ids.length);
      return ids;
    },

    async listFiles(key, list) {
      const files = listFiles(read(), key, list);
      await yieldAfterRead(files.length);
      return files;
    },
  };
}

function objectsWithFile(tables: Tables, key: PartitionKey, sha256: string, limit: number): string[] {
  const partition = readPartition(tables, key);
  if (partition?.files === undefined) return [];
  const found = tables.fileObjects.getKeys({ ...rangeOf(partition.number, sha256), limit });
  return [...found].map((row) => readFileObject(row).id);
}

/** Each file is found by a look-up behind the one before, so that a file of many objects costs no more than one of a single. */
function listFiles(tables: Tables, key: PartitionKey, { after, limit }: FileList): string[] {
  const partition = readPartition(tables, key);
  const files: string[] = [];
  if (partition?.files === undefined) return files;
  const end = keyOf(partition.number + 1);
  let start: Buffer | undefined = after === undefined ? keyOf(partition.number) : rangeOf(partition.number, after).end;
  while (start !== undefined && files.length < limit) {
    const [row] = [...tables.fileObjects.getKeys({ start, end, limit: 1 })];
    if (row === undefined) break;
    const { sha256 } = readFileObject(row);
    files.push(sha256);
    start = rangeOf(partition.number, sha256).end;
  }
  return files;
}

function rangeOf(partition: number, sha256: string): { readonly start: Buffer; readonly end: Buffer } {
  const start = keyOf(partition, sha256);
  return { start, end: behind(start) ?? keyOf(partition + 1) };
}

function readFileObject(row: Uint8Array): { readonly sha256: string; readonly id: string } {
  const [sha256 = '', id = ''] = textsOf(row, NUMBER_BYTES);
  return { sha256, id };
}

export function splitHashes(text: string): string[] {
  const files: string[] = [];
  for (let at = 0; at < text.length; at += HASH_UNITS) files.push(text.slice(at, at + HASH_UNITS));
  return files;
}

// Writing: these run in the writer's transaction

/** An object that a commit changes, and the files that its new record refers to. */
interface ChangedFiles {
  readonly id: string;
  readonly files?: readonly string[];
}

/** Replaces the files of changed objects. Returns how many objects of the partition have files then; `before` had so many. */
export function changeFiles(
  tables: Tables,
  partition: number,
  before: number,
  changes: Iterable<ChangedFiles>,
): number {
  let count = before;
  for (const { id, files = [] } of changes) {
    const old = before === 0 ? undefined : tables.objectFiles.get([partition, id]);
    if (old !== undefined || files.length > 0) replaceFiles(tables, [partition, id], splitHashes(old ?? ''), files);
    count += (files.length > 0 ? 1 : 0) - (old === undefined ? 0 : 1);
  }
  return count;
}

function replaceFiles(tables: Tables, object: ObjectKey, old: readonly string[], files: readonly string[]): void {
  const [partition, id] = object;
  for (const sha256 of old) tables.fileObjects.remove(keyOf(partition, sha256, id));
  for (const sha256 of files) tables.fileObjects.put(keyOf(partition, sha256, id), '');
  if (files.length > 0) tables.objectFiles.put(object, files.join(''));
  else tables.objectFiles.remove(object);
}

export function removeFilesOf(tables: Tables, partition: number): void {
  removeRange(tables.objectFiles, [partition, ''], [partition + 1, '']);
  removeRange(tables.fileObjects, keyOf(partition), keyOf(partition + 1));
}
