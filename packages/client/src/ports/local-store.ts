import type { JsonValue, KeyRange } from '@tidemark/protocol';
import type { ClientError } from '../client-error.ts';
import type { FileDirectory } from './file-directory.ts';

/**
 * The tables that a device stores. A key is a pair; where one name is enough, the first of the pair is empty.
 *
 * | Table | Key | Value |
 * |---|---|---|
 * | facts | '', name | the session, the id of the device, when it was last up to date |
 * | facts | 'file', SHA-256 | what the device has of a file, and whether the server has it |
 * | sources | '', source | description, token, progress of a catch-up |
 * | sources | source, group | the same of one group of the source |
 * | objects | source, id | attributes as the server has them |
 * | objects | source + U+001F + group, id | the same of one group of the source |
 * | objects | source + U+001E, id | the groups that have the object |
 * | staged | source, number | a page of a catch-up that is not complete yet |
 * | uploads | '', op_id | a change made here that is not part of the objects yet |
 * | problems | '', op_id | an upload that was rejected or is in conflict, until the app has handled it |
 * | acknowledgements | '', op_id | an outcome the server need not repeat |
 * | links | source, temporary id | the final id from the backend |
 */
export const TABLES = [
  'facts',
  'sources',
  'objects',
  'staged',
  'uploads',
  'problems',
  'acknowledgements',
  'links',
] as const;
export type Table = (typeof TABLES)[number];

export type LocalKey = readonly [string, string];

export interface LocalRow {
  readonly table: Table;
  readonly key: LocalKey;
  readonly value: JsonValue;
}

/** Without a value the row is deleted. */
export interface LocalWrite {
  readonly table: Table;
  readonly key: LocalKey;
  readonly value?: JsonValue;
}

export interface CommitOptions {
  /** True: what this commit and those before it replaced or deleted must not be readable in the files of the store afterwards. */
  readonly scrubs?: boolean;
  /**
   * True: the commit need not be durable before a later commit without this option is, because the device can fetch again
   * what a crash takes. Commits are still applied in their order, each completely or not at all.
   */
  readonly isRepeatable?: boolean;
  /** What happens to many objects at once. Only for a store with a `disk` part. */
  readonly disk?: DiskChanges;
}

/**
 * The storage of a device. It belongs to one device at a time.
 * - `load` returns every row, in any order, as of the last commit that resolved. If the process died during a commit,
 *   that commit is included completely or not at all.
 * - `commit` applies all writes or none. When it resolves they are durable. When it rejects, a later `load` sees no
 *   change. Of two writes to one key the later one counts. Commits are called one at a time.
 * - Keys and values are returned exactly as given, whatever the strings contain. Neither side changes a value it was
 *   given.
 * - After a commit with `scrubs` nothing that it or a commit before it replaced or deleted can be read from the files of the
 *   store. A database may still keep old blocks for a while that only other programs can read.
 * - After `close` every call rejects; `close` itself may be called again.
 * - `load` may call `onFirst` once, before it reads objects, with every row of the other tables. A store that reads
 *   everything at once does not call it. A store that replaces a damaged database meanwhile calls it once more, and what it passed on
 *   before does not count.
 * - `files` opens the place for the bytes of files, the same for every call. A store without it keeps no files.
 * - A store with `sharedAs` may be opened by several tabs under that name. It then belongs to the tab that called `load`
 *   last; commits of the others reject with `store_in_use`.
 */
export interface LocalStore {
  readonly sharedAs?: string;
  load(onFirst?: (rows: readonly LocalRow[]) => void): Promise<readonly LocalRow[]>;
  commit(writes: readonly LocalWrite[], options?: CommitOptions): Promise<void>;
  close(): Promise<void>;
  files?(): Promise<FileDirectory>;
  /** Absent: the store cannot answer queries, and all objects must be in memory. */
  readonly disk?: DiskPart;
  /** Called by the device once. The store calls back when it was deleted from outside or is damaged, and can store nothing any more. */
  onLost?(listener: (error: ClientError) => void): void;
}

/** An object as it is stored, by its id. */
export type StoredObject = readonly [id: string, attributes: JsonValue];

/** A position in an order: behind the object with this key and id. */
export interface ScanPosition {
  readonly key: string;
  readonly id: string;
}

/** Asks for objects in an order. */
export interface Scan {
  /** The first part of the keys of the objects, as in `LocalKey`. */
  readonly first: string;
  /** The path of an index that gives the order: by the keys of its values, and by id where they are equal. Null: by id. */
  readonly path: string | null;
  /** Only objects whose key in the index is in this range. Null, and without an index: all. */
  readonly range: KeyRange | null;
  /** True: the greatest key first; objects with equal keys are in the order of their ids all the same. */
  readonly isDescending: boolean;
  /** Null: from the beginning. Without an index only the id counts. */
  readonly after: ScanPosition | null;
  /** Objects that are left out at the beginning. */
  readonly skip: number;
  readonly limit: number;
}

/** How many objects there are, and the sum of their checksums. */
export interface Measure {
  readonly size: number;
  readonly checksum: number;
}

/** What a commit does with many objects at once. */
export interface DiskChanges {
  /** The first parts of keys whose objects are all deleted, before the writes; `all`: every object of the store. */
  readonly drops: readonly string[] | 'all';
  /** The objects of the first become those of the second, which are deleted; after the writes. */
  readonly moves: readonly (readonly [from: string, to: string])[];
  /** Sources whose objects are made anew from those of their groups, at the end. */
  readonly unions: readonly Union[];
}

export interface Union {
  /** The first part of the keys of the objects that are made. */
  readonly first: string;
  /** The first part of the keys of the rows `{ groups }` that say which groups have an object. */
  readonly owners: string;
  /** The groups and the first parts of the keys of their objects. An object that several have is that of the first one. */
  readonly groups: readonly (readonly [group: string, first: string])[];
}

/**
 * What a store offers that can keep objects on the disk, so that they need not be in memory.
 * - Every call sees the last commit that resolved, and no call sees a part of a commit.
 * - `load` calls `choose` with every row of the other tables, and returns every row except the objects of the sources that it
 *   returns: of the source itself, of its groups, and who owns them. As with `onFirst`, a second call takes the place of the first.
 * - `read` returns the values of objects in the order of the keys; undefined where there is none.
 * - `scan` returns objects in an order. Ids are compared by their UTF-16 code units.
 * - `count` returns how many objects are in the range, and stops at `max`.
 * - `measure` returns size and checksum of objects, from a checksum that is stored with each of them whenever it is written. It takes
 *   many steps, between which commits may be made.
 * - `addIndex` makes an index on a path of a source, unless there is one. Values have the keys that `sortKey` makes.
 */
export interface DiskPart {
  load(choose: (rows: readonly LocalRow[]) => readonly string[]): Promise<readonly LocalRow[]>;
  read(keys: readonly LocalKey[]): Promise<readonly (JsonValue | undefined)[]>;
  scan(scan: Scan): Promise<readonly StoredObject[]>;
  count(scan: Pick<Scan, 'first' | 'path' | 'range'>, max: number): Promise<number>;
  measure(first: string): Promise<Measure>;
  addIndex(source: string, path: string): Promise<void>;
}
