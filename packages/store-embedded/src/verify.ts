import { type Finding, keptBytes, type PartitionKey, type RecordReader } from '@tidemark/core/ports';
import { addChecksums } from '@tidemark/protocol';
import type { Database, Key, Transaction } from 'lmdb';
import { acknowledgedKey } from './acknowledged-index.ts';
import type { DocumentRow } from './documents.ts';
import { splitHashes } from './file-index.ts';
import { verifyJobs } from './jobs/verify-jobs.ts';
import { ALL_JOURNALS, ALL_OBJECTS, type JournalKey, journalAfter, keyOf, objectsOf, readNumber } from './keys.ts';
import { type LiveRecord, liveRecordsOf, RecordFinder } from './live-records.ts';
import { noteSizes } from './notes.ts';
import { decodeIndexEntry, type IndexEntry } from './object-index.ts';
import { type PartitionRow, partitionKeyOf, partitionName } from './partitions.ts';
import type { Tables } from './tables.ts';
import { decodeRow } from './tidemark-row.ts';
import { tidemarkKeyOf } from './tidemarks.ts';

/** Entries between two pauses for the event loop. */
const ENTRIES_PER_PAUSE = 1_000;

/** Checks everything in one snapshot, so that concurrent writes are not mistaken for damage. */
export async function* verifyTables(tables: Tables, reader: RecordReader): AsyncIterable<Finding> {
  const transaction = tables.root.useReadTransaction();
  try {
    const check = new Check(tables, transaction, reader);
    yield* check.partitions();
    yield* check.documents();
    yield* check.jobs();
  } finally {
    transaction.done();
  }
}

/** Sums over the records of a partition. */
interface Totals {
  size: number;
  checksum: number;
  bytes: number;
  /** Objects that refer to files, and the files of each. */
  withFiles: number;
  files: number;
}

interface Tombstones {
  count: number;
  bytes: number;
}

class Check {
  readonly #tables: Tables;
  readonly #transaction: Transaction;
  readonly #reader: RecordReader;
  #checked = 0;

  constructor(tables: Tables, transaction: Transaction, reader: RecordReader) {
    this.#tables = tables;
    this.#transaction = transaction;
    this.#reader = reader;
  }

  async *partitions(): AsyncIterable<Finding> {
    const keys = new Map<number, PartitionKey>();
    for (const { key, value } of this.#tables.partitions.getRange({ transaction: this.#transaction })) {
      const row = JSON.parse(value) as PartitionRow;
      const partition = partitionKeyOf(key);
      keys.set(row.number, partition);
      yield* this.#partition(partition, row);
    }
    yield* this.#tidemarks(keys);
    yield* this.#orphans(keys);
  }

  async *#partition(partition: PartitionKey, row: PartitionRow): AsyncIterable<Finding> {
    const live = { size: 0, checksum: 0, bytes: 0, withFiles: 0, files: 0 };
    for await (const finding of this.#live(row, live)) yield { partition, ...finding };
    const tombstones = { count: 0, bytes: 0 };
    for await (const finding of this.#tombstones(row, tombstones)) yield { partition, ...finding };
    for await (const finding of this.#index(row)) yield { partition, ...finding };
    for (const finding of this.#fileTotals(row, live)) yield { partition, ...finding };
    if (live.size !== row.size) {
      yield { partition, problem: 'wrong_size', detail: `${row.size} objects noted, ${live.size} found` };
    }
    // When records are missing or changed, that was reported, and their bytes differ for the same reason.
    const isOtherwiseSound = live.size === row.size && live.checksum === row.checksum;
    if (isOtherwiseSound && live.bytes !== row.bytes) {
      yield { partition, problem: 'wrong_size', detail: `${row.bytes} bytes noted, ${live.bytes} found` };
    }
    if (tombstones.count !== row.tombstones) {
      yield {
        partition,
        problem: 'wrong_size',
        detail: `${row.tombstones} tombstones noted, ${tombstones.count} found`,
      };
    }
    if (tombstones.count === row.tombstones) yield* this.#kept(partition, tombstones.bytes);
    if (live.checksum !== row.checksum) {
      yield { partition, problem: 'wrong_checksum', detail: `${row.checksum} noted, ${live.checksum} computed` };
    }
  }

  /** Tombstones and notes of an earlier version were not counted, so there may be more than were. */
  async *#kept(partition: PartitionKey, ofTombstones: number): AsyncIterable<Finding> {
    const name = partitionName(partition);
    const noted = Number(this.#tables.kept.get(name, { transaction: this.#transaction }) ?? 0);
    let found = ofTombstones;
    for (const bytes of noteSizes(this.#tables, name, this.#transaction)) {
      await this.#pause();
      found += bytes;
    }
    if (noted <= found) return;
    const detail = `${noted} bytes of tombstones and notes noted, ${found} found`;
    yield { partition, problem: 'wrong_size', detail };
  }

  async *#live(row: PartitionRow, totals: Totals): AsyncIterable<PartitionFinding> {
    for (const { key, value } of this.#tables.live.getRange(this.#journalRange(row))) {
      const records = attempt(() => liveRecordsOf({ runSeq: key[1], value }));
      if (records === null) yield { problem: 'unreadable', detail: `the run at ${key[1]}` };
      for (const record of records ?? []) {
        await this.#pause();
        yield* this.#record(row, record, totals);
      }
    }
  }

  *#record(row: PartitionRow, { seq, record }: LiveRecord, totals: Totals): Iterable<PartitionFinding> {
    if (seq > row.head) yield { problem: 'seq_beyond_head', detail: `an object at ${seq}, head ${row.head}` };
    const read = attempt(() => this.#reader(record));
    if (read === null) {
      yield { problem: 'unreadable', detail: `the record at ${seq}` };
      return;
    }
    totals.size++;
    totals.bytes += Buffer.byteLength(record);
    totals.checksum = addChecksums(totals.checksum, read.checksum);
    yield* this.#indexEntry(row, read.id, { seq, isLive: true, checksum: read.checksum });
    yield* this.#filesOf(row, read, totals);
  }

  /** The index by object must have what the record says, and the index by file the same. */
  *#filesOf(
    { number, files: objects }: PartitionRow,
    { id, files = [] }: ReturnType<RecordReader>,
    totals: Totals,
  ): Iterable<PartitionFinding> {
    const { objectFiles, fileObjects } = this.#tables;
    const snapshot = { transaction: this.#transaction };
    const noted = objects === undefined ? '' : (objectFiles.get([number, id], snapshot) ?? '');
    const isIndexed = files.every((sha256) => fileObjects.get(keyOf(number, sha256, id), snapshot) !== undefined);
    totals.withFiles += files.length > 0 ? 1 : 0;
    totals.files += files.length;
    if (isIndexed && [...files].sort().join('') === splitHashes(noted).sort().join('')) return;
    yield { problem: 'wrong_files', detail: `object ${JSON.stringify(id)}: the index has other files than its record` };
  }

  /** What is left over in the index belongs to no record. */
  *#fileTotals({ number, files = 0 }: PartitionRow, totals: Totals): Iterable<PartitionFinding> {
    const snapshot = { transaction: this.#transaction };
    const rows = this.#tables.fileObjects.getKeysCount({ start: keyOf(number), end: keyOf(number + 1), ...snapshot });
    if (files === totals.withFiles && rows === totals.files) return;
    const detail = `${files} objects with ${rows} files in the index, ${totals.withFiles} with ${totals.files} found`;
    yield { problem: 'wrong_files', detail };
  }

  async *#tombstones(row: PartitionRow, totals: Tombstones): AsyncIterable<PartitionFinding> {
    for (const { key, value: id } of this.#tables.tombstones.getRange(this.#journalRange(row))) {
      await this.#pause();
      totals.count++;
      totals.bytes += keptBytes(id);
      if (key[1] > row.head) yield { problem: 'seq_beyond_head', detail: `a tombstone at ${key[1]}, head ${row.head}` };
      if (key[1] <= row.floor) yield { problem: 'tombstone_below_floor', detail: `at ${key[1]}, floor ${row.floor}` };
      yield* this.#indexEntry(row, id, { seq: key[1], isLive: false, checksum: 0 });
    }
  }

  *#indexEntry(row: PartitionRow, id: string, found: IndexEntry): Iterable<PartitionFinding> {
    const bytes = this.#tables.index.get([row.number, id], { transaction: this.#transaction });
    const entry = bytes === undefined ? null : decodeIndexEntry(bytes);
    if (entry === null || entry.seq !== found.seq || entry.isLive !== found.isLive) {
      yield { problem: 'missing_from_index', detail: `object ${JSON.stringify(id)} at ${found.seq}` };
    } else if (entry.checksum !== found.checksum) {
      yield { problem: 'wrong_object_checksum', detail: `object ${JSON.stringify(id)} at ${found.seq}` };
    }
  }

  async *#index(row: PartitionRow): AsyncIterable<PartitionFinding> {
    const { number: partition } = row;
    const range = { ...objectsOf(partition), transaction: this.#transaction };
    const records = new RecordFinder(this.#tables, partition, this.#transaction);
    for (const { key, value } of this.#tables.index.getRange(range)) {
      await this.#pause();
      const { seq, isLive } = decodeIndexEntry(value);
      if (!(isLive ? attempt(() => records.at(seq)) !== null : this.#isTombstone([partition, seq]))) {
        yield { problem: 'missing_from_journal', detail: `object ${JSON.stringify(key[1])}, expected at ${seq}` };
      }
    }
  }

  async *#tidemarks(keys: ReadonlyMap<number, PartitionKey>): AsyncIterable<Finding> {
    const { tidemarks, acknowledged } = this.#tables;
    const snapshot = { transaction: this.#transaction };
    const counts = new Map<number, number>();
    for (const { key, value } of tidemarks.getRange(snapshot)) {
      await this.#pause();
      const { client, partition: number } = tidemarkKeyOf(key);
      const partition = keys.get(number);
      counts.set(number, (counts.get(number) ?? 0) + 1);
      if (partition === undefined) yield orphan(`a tidemark of the unknown partition ${number}`);
      else if (acknowledged.get(acknowledgedKey(number, decodeRow(client, value)), snapshot) === undefined) {
        yield { partition, problem: 'missing_from_index', detail: `the tidemark of ${client}` };
      }
    }
    for (const [number, partition] of keys) {
      await this.#pause();
      const indexed = acknowledged.getKeysCount({ start: keyOf(number), end: keyOf(number + 1), ...snapshot });
      const found = counts.get(number) ?? 0;
      if (indexed === found) continue;
      yield { partition, problem: 'wrong_size', detail: `${indexed} tidemarks in the index, ${found} found` };
    }
  }

  #isTombstone(key: JournalKey): boolean {
    return this.#tables.tombstones.get(key, { transaction: this.#transaction }) !== undefined;
  }

  /** Finds entries that belong to no partition. */
  async *#orphans(keys: ReadonlyMap<number, PartitionKey>): AsyncIterable<Finding> {
    const tables: readonly (readonly [string, Iterable<number>])[] = [
      ['live', this.#firsts(this.#tables.live, ALL_JOURNALS)],
      ['tombstones', this.#firsts(this.#tables.tombstones, ALL_JOURNALS)],
      ['index', this.#firsts(this.#tables.index, ALL_OBJECTS)],
      ['object_files', this.#firsts(this.#tables.objectFiles, ALL_OBJECTS)],
    ];
    for (const [name, partitions] of tables) {
      for (const partition of partitions) {
        await this.#pause();
        if (!keys.has(partition)) yield orphan(`an entry of "${name}" for the unknown partition ${partition}`);
      }
    }
  }

  *#firsts<K extends [number, ...Key[]]>(table: Database<unknown, K>, range: { start: K; end: K }): Iterable<number> {
    for (const [partition] of table.getKeys({ ...range, transaction: this.#transaction })) yield partition;
  }

  async *documents(): AsyncIterable<Finding> {
    const rows = new Map<number, DocumentRow>();
    for (const { value } of this.#tables.documents.getRange({ transaction: this.#transaction })) {
      const document = JSON.parse(value) as DocumentRow;
      rows.set(document.number, document);
    }
    const found = new Map<number, { partCount: number; units: number }>();
    for (const { key, value } of this.#tables.parts.getRange({ transaction: this.#transaction })) {
      await this.#pause();
      const number = readNumber(key, 0);
      const totals = found.get(number) ?? { partCount: 0, units: 0 };
      found.set(number, { partCount: totals.partCount + 1, units: totals.units + value.length });
      if (!rows.has(number)) yield orphan(`a part of the unknown document ${number}`);
    }
    for (const [number, { partCount, units }] of rows) {
      const totals = found.get(number) ?? { partCount: 0, units: 0 };
      if (totals.partCount === partCount && totals.units === units) continue;
      const detail = `document ${number}: ${partCount} parts and ${units} units noted, ${totals.partCount} and ${totals.units} found`;
      yield { partition: null, problem: 'wrong_size', detail };
    }
  }

  jobs(): AsyncIterable<Finding> {
    return verifyJobs(this.#tables, this.#transaction, () => this.#pause());
  }

  #journalRange({ number: partition }: PartitionRow) {
    return { ...journalAfter(partition, -1), transaction: this.#transaction };
  }

  async #pause(): Promise<void> {
    if (++this.#checked % ENTRIES_PER_PAUSE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Returns null when reading throws. */
function attempt<T>(read: () => T): T | null {
  try {
    return read();
  } catch {
    return null;
  }
}

type PartitionFinding = Omit<Finding, 'partition'>;

function orphan(detail: string): Finding {
  return { partition: null, problem: 'orphan', detail };
}
