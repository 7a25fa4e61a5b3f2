import type { PartitionKey } from '../owner.ts';

/**
 * Which live objects refer to which files: an index over the records, which every commit changes in the same step. Files are
 * named by their SHA-256.
 */
export interface FileIndex {
  /** The ids of objects of a partition that refer to the file, up to `limit` of them, in an order of the engine. */
  objectsWithFile(key: PartitionKey, sha256: string, limit: number): Promise<readonly string[]>;
  /** The files that objects of a partition refer to, each once and ascending; `after` is the last one of the previous listing. */
  listFiles(key: PartitionKey, list: FileList): Promise<readonly string[]>;
}

export interface FileList {
  readonly after?: string;
  readonly limit: number;
}
