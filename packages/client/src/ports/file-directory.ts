/**
 * Where the bytes of files are stored, as entries with names of lower-case letters, digits, `-` and `.`.
 * - `write` replaces what the name has. When it resolves the bytes are durable. If the process dies during a call, the entry may
 *   have any bytes: the device uses an entry only after it has noted that it was written.
 * - `read` returns the bytes as they were given; null: there is no such entry.
 * - After `delete` the entries are gone. Names without an entry are ignored.
 * - Tabs of one origin may use it at the same time.
 * - `entryBytes` is the most that `write` is given; absent: 1 MiB. It may change between two versions.
 * - `has` says whether there is an entry; absent: the device reads it to know.
 */
export interface FileDirectory {
  readonly entryBytes?: number;
  read(name: string): Promise<Uint8Array<ArrayBuffer> | null>;
  write(name: string, bytes: Uint8Array<ArrayBuffer>): Promise<void>;
  delete(names: readonly string[]): Promise<void>;
  has?(name: string): Promise<boolean>;
  /** The names of all entries, in any order. */
  list(): Promise<readonly string[]>;
}
