import {
  type AcknowledgedCount,
  type AcknowledgedList,
  type AcknowledgedRange,
  acknowledgedSeq,
  type ChangedQuery,
  type ChangedRead,
  type Commit,
  type CommitInterval,
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
  type FileList,
  type Finding,
  type Guard,
  type JoinedSlice,
  type JournalRange,
  type JournalSlice,
  joinedSlice,
  type MigrationState,
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
  type RecordCount,
  type RecordReader,
  readCommitTimes,
  type SeqRange,
  type StatRow,
  type StoredDocument,
  type StoredObject,
  type StoreHead,
  type TidemarkList,
  type WriteResult,
} from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import { bytesOf, commitChanges } from './commit-changes.ts';
import { readDocument, scopeTuple, writeDocument } from './documents.ts';
import { listEntries, missingGuard, writeEntries } from './entries.ts';
import { listFiles, objectsWithFile } from './file-index.ts';
import { countRecords, sliceJournal, stateOf, trimGraves } from './journal.ts';
import { type MemoryData, newData, partitionOf } from './memory-data.ts';
import { exportData, importPiece } from './move-data.ts';
import { listNotes, readNotes } from './notes.ts';
import { changedSince, listPartitions } from './partitions.ts';
import { addStatRow, readStatRows, trimStatRows } from './stat-rows.ts';
import { compareUtf8, tupleKey } from './tuples.ts';
import { verifyPartition } from './verify-partition.ts';

export interface MemoryStoreOptions {
  readonly random: Random;
  /** Tombstones removed by one `trim`. */
  readonly tombstonesPerTrimMax?: number;
  /** Rows removed by one `trimStats`. */
  readonly rowsPerTrimMax?: number;
}

const GRAVES_PER_TRIM_MAX = 1_000;
const ROWS_PER_TRIM_MAX = 1_000;
const EPOCH_WORD_BYTES = 9;

/**
 * Opens the store port over plain maps, as the reference for every other engine. Each call is applied in one synchronous
 * step, which makes it atomic.
 */
export function openMemoryStore(options: MemoryStoreOptions): MovableStore {
  return new MemoryStore(options);
}

class MemoryStore implements MovableStore {
  readonly engine: EngineDescription = { name: 'memory', durability: 'memory' };
  readonly #options: Required<MemoryStoreOptions>;
  readonly #newWord: () => string;
  readonly #id: string;
  /** One counter for the whole store, which a reset does not reset, so that no version repeats. */
  readonly #newVersion: () => number;
  #lastVersion = 0;
  #migrationState: MigrationState | null = null;
  /** Null once closed. */
  #current: MemoryData | null;

  constructor(options: MemoryStoreOptions) {
    this.#options = { tombstonesPerTrimMax: GRAVES_PER_TRIM_MAX, rowsPerTrimMax: ROWS_PER_TRIM_MAX, ...options };
    this.#newWord = () => Buffer.from(options.random.bytes(EPOCH_WORD_BYTES)).toString('base64url');
    this.#newVersion = () => {
      this.#lastVersion += 1;
      return this.#lastVersion;
    };
    this.#current = newData(this.#newWord());
    this.#id = this.#newWord();
  }

  #data(): MemoryData {
    if (this.#current === null) throw new Refusal('store_unavailable', 'The store is closed.');
    return this.#current;
  }

  async epoch(): Promise<string> {
    return this.#data().epoch;
  }

  async partition(key: PartitionKey): Promise<PartitionState> {
    return stateOf(partitionOf(this.#data(), key));
  }

  async size(key: PartitionKey): Promise<number> {
    return stateOf(partitionOf(this.#data(), key)).size;
  }

  async bytes(key: PartitionKey): Promise<number> {
    const data = this.#data();
    return bytesOf(data, partitionOf(data, key));
  }

  async readObjects(key: PartitionKey, ids: readonly string[]): Promise<ObjectsRead> {
    const partition = partitionOf(this.#data(), key);
    const objects = new Map<string, StoredObject>();
    for (const id of ids) {
      const seq = partition.index.get(id)?.seq;
      const entry = seq === undefined ? undefined : partition.journal.get(seq);
      if (seq !== undefined && entry !== undefined) objects.set(id, { seq, record: entry.record });
    }
    return { state: stateOf(partition), objects };
  }

  async readJournal(key: PartitionKey, range: JournalRange): Promise<JournalSlice> {
    return sliceJournal(partitionOf(this.#data(), key), range);
  }

  async readJoined(key: PartitionKey, range: JournalRange): Promise<JoinedSlice> {
    return joinedSlice(await this.readJournal(key, range));
  }

  async countRecords(key: PartitionKey, range: SeqRange): Promise<RecordCount> {
    return countRecords(partitionOf(this.#data(), key), range);
  }

  async commit(commit: Commit): Promise<CommitResult> {
    return commitChanges(this.#data(), commit, this.#newWord);
  }

  async trim(key: PartitionKey, upTo: number): Promise<PartitionState> {
    const partition = partitionOf(this.#data(), key);
    trimGraves(partition, upTo, this.#options.tombstonesPerTrimMax);
    return stateOf(partition);
  }

  async commitTimes(key: PartitionKey): Promise<readonly CommitInterval[]> {
    return readCommitTimes(partitionOf(this.#data(), key).times);
  }

  async objectsWithFile(key: PartitionKey, sha256: string, limit: number): Promise<readonly string[]> {
    return objectsWithFile(partitionOf(this.#data(), key), sha256, limit);
  }

  async listFiles(key: PartitionKey, list: FileList): Promise<readonly string[]> {
    return listFiles(partitionOf(this.#data(), key), list);
  }

  async partitions(list: { readonly after?: PartitionKey; readonly limit: number }): Promise<readonly PartitionKey[]> {
    return listPartitions(this.#data(), list);
  }

  async changedSince(query: ChangedQuery): Promise<ChangedRead | null> {
    return changedSince(this.#data(), this.#id, query);
  }

  async readDocument(key: DocumentKey, parts?: readonly string[]): Promise<StoredDocument | null> {
    return readDocument(this.#data(), key, parts);
  }

  async writeDocument(write: DocumentWrite): Promise<WriteResult> {
    return writeDocument(this.#data(), write, this.#newVersion);
  }

  async documentNames(scope: DocumentScope): Promise<readonly string[]> {
    const wanted = tupleKey(...scopeTuple(scope));
    return [...this.#data().documents.values()]
      .filter((document) => tupleKey(...scopeTuple(document.scope)) === wanted)
      .map(({ name }) => name)
      .sort(compareUtf8);
  }

  async readEntry({ kind, key }: EntryRef): Promise<Entry | null> {
    const entry = this.#data().entries.get(tupleKey(kind, ...key));
    return entry === undefined ? null : { key: [...entry.key], value: entry.value, version: entry.version };
  }

  async listEntries(list: EntryList): Promise<readonly Entry[]> {
    return listEntries(this.#data(), list);
  }

  async countEntries(kind: EntryKind, prefix: readonly string[] = []): Promise<number> {
    return listEntries(this.#data(), { kind, prefix, limit: Number.POSITIVE_INFINITY }).length;
  }

  async writeEntries(batch: EntryBatch): Promise<WriteResult> {
    return writeEntries(this.#data(), batch, this.#newVersion);
  }

  async readTidemark(key: PartitionKey, client: string): Promise<DeviceTidemark | null> {
    const mark = partitionOf(this.#data(), key).tidemarks.get(client);
    return mark === undefined ? null : { ...mark };
  }

  async listTidemarks(key: PartitionKey, { after, limit }: TidemarkList): Promise<readonly DeviceTidemark[]> {
    return [...partitionOf(this.#data(), key).tidemarks.values()]
      .sort((left, right) => compareUtf8(left.client, right.client))
      .filter(({ client }) => after === undefined || compareUtf8(client, after.client) > 0)
      .slice(0, limit)
      .map((mark) => ({ ...mark }));
  }

  async countAcknowledged(key: PartitionKey, range: AcknowledgedRange): Promise<AcknowledgedCount> {
    const marks = [...partitionOf(this.#data(), key).tidemarks.values()].filter(({ epoch }) => epoch === range.epoch);
    return { devices: marks.length, below: marks.filter((mark) => acknowledgedSeq(mark) < range.below).length };
  }

  async listAcknowledged(
    key: PartitionKey,
    { epoch, below, after, limit }: AcknowledgedList,
  ): Promise<readonly DeviceTidemark[]> {
    return [...partitionOf(this.#data(), key).tidemarks.values()]
      .filter((mark) => mark.epoch === epoch && acknowledgedSeq(mark) < below)
      .filter((mark) => after === undefined || compareAcknowledged(mark, after) > 0)
      .sort(compareAcknowledged)
      .slice(0, limit)
      .map((mark) => ({ ...mark }));
  }

  async noteTidemark(
    key: PartitionKey,
    mark: DeviceTidemark,
    guards: readonly Guard[],
    expect?: DeviceTidemark | null,
  ): Promise<WriteResult> {
    const guard = missingGuard(this.#data(), guards);
    if (guard !== null) return { status: 'gone', guard };
    // A tidemark of a partition without any write is dropped.
    const { head, tidemarks } = partitionOf(this.#data(), key);
    if (head === 0) return { status: 'written' };
    const stored = tidemarks.get(mark.client) ?? null;
    if (expect !== undefined && !isSameTidemark(stored, expect)) return { status: 'conflict' };
    tidemarks.set(mark.client, { ...mark });
    return { status: 'written' };
  }

  async readNotes(key: PartitionKey, client: string, refs: readonly NoteRef[]): Promise<readonly Note[]> {
    return readNotes(this.#data(), key, client, refs);
  }

  async listNotes(key: PartitionKey, client: string, list: NoteList): Promise<readonly Note[]> {
    return listNotes(this.#data(), key, client, list);
  }

  async addStats(rows: readonly StatRow[]): Promise<void> {
    const { stats } = this.#data();
    for (const row of rows) addStatRow(stats, row);
  }

  async readStats(metric: string, from: 'oldest' | 'newest', limit: number): Promise<readonly StatRow[]> {
    return readStatRows(this.#data().stats, metric, from, limit);
  }

  async statNames(): Promise<readonly string[]> {
    return [...this.#data().stats.keys()].sort(compareUtf8);
  }

  async trimStats(beforeS: number): Promise<number> {
    return trimStatRows(this.#data().stats, beforeS, this.#options.rowsPerTrimMax);
  }

  async reset(keep: readonly EntryRef[]): Promise<string> {
    const old = this.#data();
    const data = newData(this.#newWord());
    for (const { kind, key } of keep) {
      const mapKey = tupleKey(kind, ...key);
      const entry = old.entries.get(mapKey);
      if (entry !== undefined) data.entries.set(mapKey, entry);
    }
    this.#current = data;
    return data.epoch;
  }

  async backup(): Promise<void> {
    this.#data();
    throw new Error('a memory store cannot be backed up');
  }

  async *verify(reader: RecordReader): AsyncIterable<Finding> {
    for (const partition of this.#data().partitions.values()) yield* verifyPartition(partition, reader);
  }

  async head(): Promise<StoreHead> {
    return { epoch: this.#data().epoch, lastVersion: this.#lastVersion };
  }

  export(reader: RecordReader): AsyncIterable<readonly Piece[]> {
    return portionsOf(exportData(this.#data(), reader));
  }

  async beginImport({ epoch, lastVersion }: StoreHead): Promise<void> {
    this.#data();
    this.#current = newData(epoch);
    this.#lastVersion = Math.max(this.#lastVersion, lastVersion);
  }

  async import(pieces: readonly Piece[]): Promise<void> {
    for (const piece of pieces) importPiece(this.#data(), piece);
  }

  async migrationState(): Promise<MigrationState | null> {
    this.#data();
    return this.#migrationState;
  }

  async setMigrationState(state: MigrationState | null): Promise<void> {
    this.#data();
    this.#migrationState = state;
  }

  async close(): Promise<void> {
    this.#current = null;
  }
}

type AcknowledgedBy = Pick<DeviceTidemark, 'client' | 'base'>;

function isSameTidemark(left: DeviceTidemark | null, right: DeviceTidemark | null): boolean {
  if (left === null || right === null) return left === right;
  return (['client', 'epoch', 'seq', 'base', 'start', 'sent', 'seenAtMs'] as const).every(
    (name) => left[name] === right[name],
  );
}

function compareAcknowledged(left: AcknowledgedBy, right: AcknowledgedBy): number {
  return acknowledgedSeq(left) - acknowledgedSeq(right) || compareUtf8(left.client, right.client);
}
