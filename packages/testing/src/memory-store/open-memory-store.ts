import {
  type Commit,
  type CommitResult,
  type DeviceTidemark,
  type DocumentKey,
  type DocumentScope,
  type DocumentWrite,
  type EngineDescription,
  type Entry,
  type EntryBatch,
  type EntryKind,
  type EntryList,
  type EntryRef,
  type Finding,
  type Guard,
  type JoinedSlice,
  type JournalRange,
  type JournalSlice,
  joinedSlice,
  type MovableStore,
  type Note,
  type NoteList,
  type NoteRef,
  type ObjectsRead,
  type PartitionKey,
  type PartitionState,
  type Piece,
  portionsOf,
  type Random,
  type RecordReader,
  type Seal,
  type StatRow,
  type StoredDocument,
  type StoredObject,
  type StoreLife,
  type WriteResult,
} from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { commitChanges } from './commit-changes.ts';
import { compareUtf8 } from './compare-tuples.ts';
import { listEntries } from './list-entries.ts';
import { listPartitions } from './list-partitions.ts';
import { type MemoryLife, newLife, partitionOf } from './memory-life.ts';
import { missingGuard } from './missing-guard.ts';
import { exportLife, importPiece } from './move-life.ts';
import { listNotes, readNotes } from './notes.ts';
import { readDocument, scopeTuple } from './read-document.ts';
import { sliceJournal } from './slice-journal.ts';
import { addStatRow, readStatRows, trimStatRows } from './stat-rows.ts';
import { stateOf } from './state-of.ts';
import { trimGraves } from './trim-tombstones.ts';
import { tupleKey } from './tuple-key.ts';
import { verifyPartition } from './verify-partition.ts';
import { writeDocument } from './write-document.ts';
import { writeEntries } from './write-entries.ts';

export interface MemoryStoreOptions {
  readonly random: Random;
  /** Tombstones forgotten by one `trim`. */
  readonly gravesPerTrimMax?: number;
  /** Rows forgotten by one `trimStats`. */
  readonly rowsPerTrimMax?: number;
}

const GRAVES_PER_TRIM_MAX = 1_000;
const ROWS_PER_TRIM_MAX = 1_000;
const EPOCH_WORD_BYTES = 9;

/**
 * The port over plain maps: what every other engine must do, in the fewest words. Each call is applied in one
 * synchronous step when it is made, which is what makes it atomic.
 */
export function openMemoryStore(options: MemoryStoreOptions): MovableStore {
  return new MemoryStore(options);
}

class MemoryStore implements MovableStore {
  readonly engine: EngineDescription = { name: 'memory', durability: 'memory' };
  readonly #options: Required<MemoryStoreOptions>;
  readonly #newWord: () => string;
  /** One count for the whole store, reset or not, so that no version ever repeats. */
  readonly #newVersion: () => number;
  #lastVersion = 0;
  #seal: Seal | null = null;
  /** Null once closed. */
  #current: MemoryLife | null;

  constructor(options: MemoryStoreOptions) {
    this.#options = { gravesPerTrimMax: GRAVES_PER_TRIM_MAX, rowsPerTrimMax: ROWS_PER_TRIM_MAX, ...options };
    this.#newWord = () => Buffer.from(options.random.bytes(EPOCH_WORD_BYTES)).toString('base64url');
    this.#newVersion = () => {
      this.#lastVersion += 1;
      return this.#lastVersion;
    };
    this.#current = newLife(this.#newWord());
  }

  #life(): MemoryLife {
    if (this.#current === null) throw new Refusal('store_unavailable', 'The store is closed.');
    return this.#current;
  }

  async epoch(): Promise<string> {
    return this.#life().epoch;
  }

  async partition(key: PartitionKey): Promise<PartitionState> {
    return stateOf(partitionOf(this.#life(), key));
  }

  async size(key: PartitionKey): Promise<number> {
    return stateOf(partitionOf(this.#life(), key)).size;
  }

  async readObjects(key: PartitionKey, ids: readonly string[]): Promise<ObjectsRead> {
    const partition = partitionOf(this.#life(), key);
    const objects = new Map<string, StoredObject>();
    for (const id of ids) {
      const seq = partition.index.get(id)?.seq;
      const entry = seq === undefined ? undefined : partition.journal.get(seq);
      if (seq !== undefined && entry !== undefined) objects.set(id, { seq, record: entry.record });
    }
    return { state: stateOf(partition), objects };
  }

  async readJournal(key: PartitionKey, range: JournalRange): Promise<JournalSlice> {
    return sliceJournal(partitionOf(this.#life(), key), range);
  }

  async readJoined(key: PartitionKey, range: JournalRange): Promise<JoinedSlice> {
    return joinedSlice(await this.readJournal(key, range));
  }

  async commit(commit: Commit): Promise<CommitResult> {
    return commitChanges(this.#life(), commit, this.#newWord);
  }

  async trim(key: PartitionKey, upTo: number): Promise<PartitionState> {
    const partition = partitionOf(this.#life(), key);
    trimGraves(partition, upTo, this.#options.gravesPerTrimMax);
    return stateOf(partition);
  }

  async partitions(list: { readonly after?: PartitionKey; readonly limit: number }): Promise<readonly PartitionKey[]> {
    return listPartitions(this.#life(), list);
  }

  async readDocument(key: DocumentKey, parts?: readonly string[]): Promise<StoredDocument | null> {
    return readDocument(this.#life(), key, parts);
  }

  async writeDocument(write: DocumentWrite): Promise<WriteResult> {
    return writeDocument(this.#life(), write, this.#newVersion);
  }

  async documentNames(scope: DocumentScope): Promise<readonly string[]> {
    const wanted = tupleKey(...scopeTuple(scope));
    return [...this.#life().documents.values()]
      .filter((document) => tupleKey(...scopeTuple(document.scope)) === wanted)
      .map(({ name }) => name)
      .sort(compareUtf8);
  }

  async readEntry({ kind, key }: EntryRef): Promise<Entry | null> {
    const entry = this.#life().entries.get(tupleKey(kind, ...key));
    return entry === undefined ? null : { key: [...entry.key], value: entry.value, version: entry.version };
  }

  async listEntries(list: EntryList): Promise<readonly Entry[]> {
    return listEntries(this.#life(), list);
  }

  async countEntries(kind: EntryKind): Promise<number> {
    return [...this.#life().entries.values()].filter((entry) => entry.kind === kind).length;
  }

  async writeEntries(batch: EntryBatch): Promise<WriteResult> {
    return writeEntries(this.#life(), batch, this.#newVersion);
  }

  async readTidemark(key: PartitionKey, client: string): Promise<DeviceTidemark | null> {
    const mark = partitionOf(this.#life(), key).tidemarks.get(client);
    return mark === undefined ? null : { ...mark };
  }

  async listTidemarks(
    key: PartitionKey,
    { after, limit }: { readonly after?: string; readonly limit: number },
  ): Promise<readonly DeviceTidemark[]> {
    return [...partitionOf(this.#life(), key).tidemarks.values()]
      .sort((left, right) => compareUtf8(left.client, right.client))
      .filter(({ client }) => after === undefined || compareUtf8(client, after) > 0)
      .slice(0, limit)
      .map((mark) => ({ ...mark }));
  }

  async noteTidemark(key: PartitionKey, mark: DeviceTidemark, guards: readonly Guard[]): Promise<WriteResult> {
    const guard = missingGuard(this.#life(), guards);
    if (guard !== null) return { status: 'gone', guard };
    // The note for a partition never written to lands on one that nobody keeps.
    partitionOf(this.#life(), key).tidemarks.set(mark.client, { ...mark });
    return { status: 'written' };
  }

  async readNotes(key: PartitionKey, client: string, refs: readonly NoteRef[]): Promise<readonly Note[]> {
    return readNotes(this.#life(), key, client, refs);
  }

  async listNotes(key: PartitionKey, client: string, list: NoteList): Promise<readonly Note[]> {
    return listNotes(this.#life(), key, client, list);
  }

  async addStats(rows: readonly StatRow[]): Promise<void> {
    const { stats } = this.#life();
    for (const row of rows) addStatRow(stats, row);
  }

  async readStats(metric: string, from: 'oldest' | 'newest', limit: number): Promise<readonly StatRow[]> {
    return readStatRows(this.#life().stats, metric, from, limit);
  }

  async statNames(): Promise<readonly string[]> {
    return [...this.#life().stats.keys()].sort(compareUtf8);
  }

  async trimStats(beforeS: number): Promise<number> {
    return trimStatRows(this.#life().stats, beforeS, this.#options.rowsPerTrimMax);
  }

  async reset(keep: readonly EntryRef[]): Promise<string> {
    const old = this.#life();
    const life = newLife(this.#newWord());
    for (const { kind, key } of keep) {
      const place = tupleKey(kind, ...key);
      const entry = old.entries.get(place);
      if (entry !== undefined) life.entries.set(place, entry);
    }
    this.#current = life;
    return life.epoch;
  }

  async backup(): Promise<void> {
    this.#life();
    throw new Error('a memory store cannot be backed up');
  }

  async *verify(reader: RecordReader): AsyncIterable<Finding> {
    for (const partition of this.#life().partitions.values()) yield* verifyPartition(partition, reader);
  }

  async life(): Promise<StoreLife> {
    return { epoch: this.#life().epoch, lastVersion: this.#lastVersion };
  }

  export(reader: RecordReader): AsyncIterable<readonly Piece[]> {
    return portionsOf(exportLife(this.#life(), reader));
  }

  async beginImport({ epoch, lastVersion }: StoreLife): Promise<void> {
    this.#life();
    this.#current = newLife(epoch);
    this.#lastVersion = Math.max(this.#lastVersion, lastVersion);
  }

  async import(pieces: readonly Piece[]): Promise<void> {
    for (const piece of pieces) importPiece(this.#life(), piece);
  }

  async seal(): Promise<Seal | null> {
    this.#life();
    return this.#seal;
  }

  async setSeal(seal: Seal | null): Promise<void> {
    this.#life();
    this.#seal = seal;
  }

  async close(): Promise<void> {
    this.#current = null;
  }
}
