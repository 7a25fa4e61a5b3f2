import type { Clock } from '../ports/clock.ts';
import type { FileBytes } from '../ports/file-bytes.ts';
import type { Random } from '../ports/random.ts';
import type { PartitionKey, Store } from '../ports/store.ts';
import type { Sources } from '../sources/sources.ts';
import { type CollectBudget, type CollectReport, FileCollector } from './collect-files.ts';
import { FileAccess } from './file-access.ts';
import { type FileArrival, FileArrivals, isStored } from './file-arrivals.ts';
import { FileClaims } from './file-claims.ts';
import { readFile } from './file-entries.ts';
import {
  FileLists,
  type FileObjectPage,
  type FilePage,
  type FilePosition,
  type FileScope,
  type FileTotals,
  type FileView,
} from './file-lists.ts';

export interface FileRules {
  /** Bytes of all stored files that one user has sent. */
  readonly quotaBytes: number;
  /** How long a file that nothing refers to is kept. At least an hour, for writes that were admitted before. */
  readonly graceMs: number;
  /** How long an unfinished upload is kept after its last bytes. */
  readonly uploadExpiresMs: number;
  /** The longest that a call to a backend waits for the files of its object; 0: it does not wait. */
  readonly backendWaitMs: number;
}

export interface FilesPorts {
  readonly store: Store;
  readonly clock: Clock;
  readonly random: Random;
  readonly sources: Sources;
  readonly rules: FileRules;
}

export interface FileFacts {
  readonly sha256: string;
  readonly size: number;
  /** False: an object refers to the file, and the bytes are not here. */
  readonly isStored: boolean;
}

/** What the core knows of files: which objects refer to them, who may read them, who has sent them, and which are missing. */
export class Files {
  readonly claims: FileClaims;
  readonly backendWaitMs: number;
  readonly #store: Store;
  readonly #access: FileAccess;
  readonly #arrivals: FileArrivals;
  readonly #lists: FileLists;
  readonly #collector: FileCollector;

  constructor({ rules, ...ports }: FilesPorts) {
    const access = new FileAccess(ports);
    this.#store = ports.store;
    this.backendWaitMs = rules.backendWaitMs;
    this.#access = access;
    this.claims = new FileClaims({ ...ports, access });
    this.#arrivals = new FileArrivals({ ...ports, access, quotaBytes: rules.quotaBytes });
    this.#lists = new FileLists(ports.store);
    this.#collector = new FileCollector({
      ...ports,
      rules,
      found: (sha256, size) => this.#arrivals.found(sha256, size),
    });
  }

  /** Called before an upload begins. `present`: nothing has to be sent. A user beyond the quota gets `quota_exceeded`. */
  begin(arrival: FileArrival): Promise<'present' | 'needed'> {
    return this.#arrivals.begin(arrival);
  }

  /** Whether the sender need not send the bytes. Whoever only knows the hash is not told whether the file is here. */
  isPresent(arrival: FileArrival): Promise<boolean> {
    return this.#arrivals.isPresent(arrival);
  }

  /** Whether the bytes are here and the user has the file. Whoever only knows the hash is not told. Changes nothing. */
  hasArrived(user: string, sha256: string): Promise<boolean> {
    return this.#arrivals.hasArrived(user, sha256);
  }

  /** Called before the bytes become a file; keeps the collector off it. */
  arriving(arrival: FileArrival): Promise<void> {
    return this.#arrivals.arriving(arrival);
  }

  /** Called when the file is durable, before the sender is told so. */
  stored(arrival: FileArrival): Promise<void> {
    return this.#arrivals.stored(arrival);
  }

  /** Called when bytes that were arriving did not become a file. */
  failed(arrival: FileArrival): Promise<void> {
    return this.#arrivals.failed(arrival);
  }

  /** Called when the bytes of a file turn out to be gone or damaged. */
  lost(sha256: string): Promise<void> {
    return this.#arrivals.lost(sha256);
  }

  /** Returns those of the given files that are missing and that the user has sent or may read. */
  lostAmong(user: string, files: readonly string[]): Promise<readonly string[]> {
    return this.#arrivals.lostAmong(user, files);
  }

  /** Null: the user may not read the file, or it is unknown. */
  async mayRead(user: string, sha256: string): Promise<FileFacts | null> {
    const { value } = await readFile(this.#store, sha256);
    if (value === null || value.isRemoved === true || !(await this.#access.mayRead(user, sha256))) return null;
    return { sha256, size: value.size, isStored: isStored(value) };
  }

  /** Null: nobody has sent the file, and no object refers to it. */
  find(sha256: string): Promise<FileView | null> {
    return this.#lists.find(sha256);
  }

  /** Returns the objects that refer to a file. */
  where(sha256: string, position: FilePosition): Promise<FileObjectPage> {
    return this.#lists.where(sha256, position);
  }

  list(scope: FileScope, position: FilePosition): Promise<FilePage> {
    return this.#lists.list(scope, position);
  }

  /** Returns the files that a device has referred to and that are not here. */
  waitingOn(client: string, limit: number): Promise<readonly FileView[]> {
    return this.#lists.waitingOn(client, limit);
  }

  /** Counts the files that objects of a partition refer to and that are not here. */
  countMissing(partition: PartitionKey): Promise<number> {
    return this.#lists.countMissing(partition);
  }

  usage(): Promise<FileTotals> {
    return this.#lists.usage();
  }

  /** Deletes what nothing has referred to for the grace period. Returns where the next portion begins. */
  collect(bytes: FileBytes, budget: CollectBudget): Promise<CollectReport> {
    return this.#collector.collect(bytes, budget);
  }
}
