import { chmodSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type {
  Commit,
  CommitResult,
  DeviceTidemark,
  DocumentKey,
  DocumentScope,
  DocumentWrite,
  EngineDescription,
  Entry,
  EntryBatch,
  EntryKind,
  EntryList,
  EntryRef,
  Finding,
  Guard,
  Jobs,
  JoinedSlice,
  JournalRange,
  JournalSlice,
  MovableStore,
  Note,
  NoteList,
  NoteRef,
  ObjectsRead,
  PartitionKey,
  PartitionState,
  Piece,
  RecordReader,
  Seal,
  StatRow,
  StoredDocument,
  StoreLife,
  WriteResult,
} from '@tidemark/core/ports';
import { Refusal } from '@tidemark/protocol';
import { documentNames, readDocument } from './documents.ts';
import { countEntries, listEntries, readEntry } from './entries.ts';
import { exportTables } from './export.ts';
import { lastNumber, newEpoch, storeEpoch } from './facts.ts';
import {
  closeToOthers,
  type FolderMark,
  flushFolder,
  type Opening,
  permissionWarnings,
  prepareFolder,
  sealOf,
  writeMark,
} from './folder.ts';
import { EmbeddedJobs, type EmbeddedJobsOptions } from './jobs/embedded-jobs.ts';
import type { JobsTask } from './jobs/jobs-task.ts';
import { readJoined, readJournal, readObjects } from './journal.ts';
import { listNotes, readNotes } from './notes.ts';
import { listPartitions, readPartition, stateOf } from './partitions.ts';
import { LOW_DISK_BYTES } from './reserve.ts';
import { readStats, statNames } from './stats.ts';
import { MAP_BYTES, openTables, STORE_FILE, type Tables } from './tables.ts';
import { listTidemarks, readTidemark } from './tidemarks.ts';
import { verifyTables } from './verify.ts';
import { Writer } from './writer.ts';

export interface EmbeddedOptions {
  /** Made when it does not exist. Several processes may open the same one. */
  readonly folder: string;
  /** Address space set aside for the store, which is not disk. */
  readonly mapBytes?: number;
  /** Tombstones, or rows of statistics, forgotten in one step. */
  readonly trimStepMax?: number;
  /** How often to look for readers that died with their process. */
  readonly readerCheckMs?: number;
  /** With less free disk than this, part of it is kept for deletions. */
  readonly lowDiskBytes?: number;
  /** Absent: as a server does. */
  readonly opening?: Opening;
}

const SETTLED = Promise.resolve();
const TRIM_STEP_MAX = 10_000;
const READER_CHECK_MS = 30_000;

/** A read that touched this many entries, or so much text, gives the event loop its turn before it answers. */
const LONG_READ_ENTRIES = 200;
const LONG_READ_UNITS = 100_000;
/** Text that is only copied takes a small part of the time of text that is taken apart. */
const JOINED_UNITS_COST_LESS_BY = 20;

export async function openEmbeddedStore(options: EmbeddedOptions): Promise<EmbeddedStore> {
  const { folder, mapBytes = MAP_BYTES, trimStepMax = TRIM_STEP_MAX, readerCheckMs = READER_CHECK_MS } = options;
  const { opening = { as: 'server' }, lowDiskBytes = LOW_DISK_BYTES } = options;
  const mark = await prepareFolder(folder, opening);
  const file = join(folder, STORE_FILE);
  closeToOthers(folder);
  const tables = openTables(file, { mapBytes });
  const { state } = mark;
  if (state === 'new' || state === 'backup' || state === 'incomplete')
    tables.root.transactionSync(() => beginLife(tables, state));
  if (state === 'new' || state === 'backup') writeMark(folder, 'ready');
  tables.root.readerCheck();
  const writer = await Writer.start({ file, mapBytes, readerCheckMs, lowDiskBytes }, () => tables.root.resetReadTxn());
  return new EmbeddedStore(tables, writer, { folder, trimStepMax, opening });
}

/** A copy begins a life of its own; of several processes that make a new store at once, the first gives it its epoch. */
function beginLife(tables: Tables, state: FolderMark['state']): void {
  if (state === 'backup' || tables.facts.get('epoch') === undefined) newEpoch(tables);
}

/** Reads on the calling thread from memory-mapped pages; writes on the writer thread. */
export class EmbeddedStore implements MovableStore {
  readonly engine: EngineDescription;
  readonly #tables: Tables;
  readonly #jobs: EmbeddedJobs[] = [];
  readonly #writer: Writer;
  readonly #trimStepMax: number;
  readonly #folder: string;
  readonly #opening: Opening;
  #isOpen = true;
  #isReading = false;

  constructor(
    tables: Tables,
    writer: Writer,
    where: { readonly folder: string; readonly trimStepMax: number; readonly opening: Opening },
  ) {
    this.#tables = tables;
    this.#writer = writer;
    this.#trimStepMax = where.trimStepMax;
    this.#folder = where.folder;
    this.#opening = where.opening;
    const warnings = permissionWarnings(where.folder);
    this.engine = { name: 'embedded', durability: 'durable', ...(warnings.length > 0 ? { warnings } : {}) };
  }

  async epoch(): Promise<string> {
    return storeEpoch(this.#now());
  }

  async partition(key: PartitionKey): Promise<PartitionState> {
    const tables = this.#now();
    return stateOf(tables, readPartition(tables, key));
  }

  async size(key: PartitionKey): Promise<number> {
    return readPartition(this.#now(), key)?.size ?? 0;
  }

  async readObjects(key: PartitionKey, ids: readonly string[]): Promise<ObjectsRead> {
    const read = readObjects(this.#now(), key, ids);
    await breatheAfter(ids.length);
    return read;
  }

  async readJournal(key: PartitionKey, range: JournalRange): Promise<JournalSlice> {
    const slice = readJournal(this.#now(), key, range);
    await breatheAfter(slice.records.length + slice.tombstones.length, unitsOf(slice.records));
    return slice;
  }

  async readJoined(key: PartitionKey, range: JournalRange): Promise<JoinedSlice> {
    const slice = readJoined(this.#now(), key, range);
    await breatheAfter(slice.tombstones.length, slice.records.length / JOINED_UNITS_COST_LESS_BY);
    return slice;
  }

  async commit(commit: Commit): Promise<CommitResult> {
    return (await this.#writer.commit(commit)) as CommitResult;
  }

  trim(partition: PartitionKey, upTo: number): Promise<PartitionState> {
    return this.#write({ kind: 'trim', partition, upTo, tombstonesMax: this.#trimStepMax });
  }

  async partitions(list: { readonly after?: PartitionKey; readonly limit: number }): Promise<readonly PartitionKey[]> {
    return listPartitions(this.#now(), list.after, list.limit);
  }

  async readDocument(key: DocumentKey, parts?: readonly string[]): Promise<StoredDocument | null> {
    const document = readDocument(this.#now(), key, parts);
    await breatheAfter(document?.parts.size ?? 0);
    return document;
  }

  writeDocument(write: DocumentWrite): Promise<WriteResult> {
    return this.#write({ kind: 'document', write });
  }

  async documentNames(scope: DocumentScope): Promise<readonly string[]> {
    return documentNames(this.#now(), scope);
  }

  async readEntry(ref: EntryRef): Promise<Entry | null> {
    return readEntry(this.#now(), ref);
  }

  async listEntries(list: EntryList): Promise<readonly Entry[]> {
    return listEntries(this.#now(), list);
  }

  async countEntries(kind: EntryKind): Promise<number> {
    return countEntries(this.#now(), kind);
  }

  writeEntries(batch: EntryBatch): Promise<WriteResult> {
    return this.#write({ kind: 'entries', batch });
  }

  async readTidemark(key: PartitionKey, client: string): Promise<DeviceTidemark | null> {
    return readTidemark(this.#now(), key, client);
  }

  async listTidemarks(
    key: PartitionKey,
    list: { readonly after?: string; readonly limit: number },
  ): Promise<readonly DeviceTidemark[]> {
    return listTidemarks(this.#now(), key, list.after, list.limit);
  }

  noteTidemark(partition: PartitionKey, mark: DeviceTidemark, guards: readonly Guard[]): Promise<WriteResult> {
    return this.#write({ kind: 'tidemark', partition, mark, guards });
  }

  async readNotes(key: PartitionKey, client: string, refs: readonly NoteRef[]): Promise<readonly Note[]> {
    return readNotes(this.#now(), key, client, refs);
  }

  async listNotes(key: PartitionKey, client: string, list: NoteList): Promise<readonly Note[]> {
    return listNotes(this.#now(), key, client, list);
  }

  async addStats(rows: readonly StatRow[]): Promise<void> {
    await this.#write({ kind: 'stats', rows });
  }

  async readStats(metric: string, from: 'oldest' | 'newest', limit: number): Promise<readonly StatRow[]> {
    const rows = readStats(this.#now(), metric, from, limit);
    await breatheAfter(rows.length);
    return rows;
  }

  async statNames(): Promise<readonly string[]> {
    return statNames(this.#now());
  }

  trimStats(beforeS: number): Promise<number> {
    return this.#write({ kind: 'trim_stats', beforeS, rowsMax: this.#trimStepMax });
  }

  reset(keep: readonly EntryRef[]): Promise<string> {
    return this.#write({ kind: 'reset', keep });
  }

  async backup(folder: string): Promise<void> {
    const { root } = this.#now();
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    if (readdirSync(folder).length > 0) throw new Error(`${folder} is not empty; a backup needs a folder of its own`);
    await root.backup(join(folder, STORE_FILE), true);
    chmodSync(join(folder, STORE_FILE), 0o600);
    // The mark comes last: a folder without one is no backup, and will not be taken for one.
    flushFolder(folder);
    writeMark(folder, 'backup');
  }

  /**
   * The jobs that live in this store: its file, its writer, its backups, its resets, its end. They come from the store
   * because they share all of that; the clock is given, because the store itself has no use for one. One call per
   * process is enough: those who watch a queue hear of what is done through the same value only.
   */
  jobs(options: EmbeddedJobsOptions): Jobs {
    const write = async (task: JobsTask) => (await this.#write({ kind: 'jobs', task })) as readonly unknown[];
    const jobs = new EmbeddedJobs({ read: () => this.#now(), write }, options);
    this.#jobs.push(jobs);
    return jobs;
  }

  verify(reader: RecordReader): AsyncIterable<Finding> {
    return verifyTables(this.#now(), reader);
  }

  async life(): Promise<StoreLife> {
    const tables = this.#now();
    return { epoch: storeEpoch(tables), lastVersion: lastNumber(tables, 'entry_version') };
  }

  export(reader: RecordReader): AsyncIterable<readonly Piece[]> {
    return exportTables(this.#now(), reader);
  }

  async beginImport(life: StoreLife): Promise<void> {
    if (this.#opening.as !== 'target') throw new Error('this store was not opened to be filled');
    await this.#write({ kind: 'life', life });
  }

  async import(pieces: readonly Piece[]): Promise<void> {
    if (this.#opening.as !== 'target') throw new Error('this store was not opened to be filled');
    await this.#write({ kind: 'import', pieces });
  }

  async seal(): Promise<Seal | null> {
    this.#now();
    return sealOf(this.#folder);
  }

  async setSeal(seal: Seal | null): Promise<void> {
    this.#now();
    if (seal === null) writeMark(this.#folder, 'ready');
    else writeMark(this.#folder, seal.state, seal.state === 'incomplete' ? undefined : seal.to);
  }

  async close(): Promise<void> {
    if (!this.#isOpen) return;
    // Flush queued job writes before the store closes.
    for (const jobs of this.#jobs) jobs.flush();
    this.#isOpen = false;
    await this.#writer.close();
    await this.#tables.root.close();
  }

  /**
   * The tables as they are now. Beginning to read costs several times as much as a look-up, so whoever reads before the
   * next event is taken up sees the same state: nobody can have heard yet of what others have written meanwhile.
   */
  #now(): Tables {
    if (!this.#isOpen) throw new Refusal('store_unavailable', 'the store is closed');
    // What became of the last transaction is not known then, so nothing is shown that may not be so.
    if (this.#writer.closedBecause !== null) throw new Refusal('store_unavailable', this.#writer.closedBecause);
    if (!this.#isReading) {
      this.#isReading = true;
      this.#tables.root.resetReadTxn();
      SETTLED.then(this.#endReadingNext);
    }
    return this.#tables;
  }

  /**
   * After all promises that are settled have been followed, and before anything else happens: that is when Node runs a
   * tick that was asked for while promises were followed. One that was asked for before would run before all of them.
   */
  readonly #endReadingNext = (): void => process.nextTick(this.#endReading);

  readonly #endReading = (): void => {
    this.#isReading = false;
  };

  /** The result of each task is what `applyTask` answers for it. */
  async #write<T>(task: Parameters<Writer['run']>[0]): Promise<T> {
    return (await this.#writer.run(task)) as T;
  }
}

function unitsOf(records: readonly string[]): number {
  let units = 0;
  for (const { length } of records) units += length;
  return units;
}

async function breatheAfter(entries: number, units = 0): Promise<void> {
  if (entries >= LONG_READ_ENTRIES || units >= LONG_READ_UNITS) await new Promise((resolve) => setImmediate(resolve));
}
