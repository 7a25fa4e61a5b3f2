import type { Finding, PartitionKey, RecordReader } from '@tidemark/core/ports';
import { addChecksums } from '@tidemark/protocol';
import type { Database, Key, Transaction } from 'lmdb';
import type { KeptDocument } from './documents.ts';
import { verifyJobs } from './jobs/verify-jobs.ts';
import { ALL_JOURNALS, ALL_OBJECTS, type JournalKey, journalAfter, objectsOf, readNumber } from './keys.ts';
import { type LiveRecord, liveRecordsOf, RecordFinder } from './live-records.ts';
import { decodeIndexEntry, type IndexEntry } from './object-index.ts';
import { partitionKeyOf, type StoredPartition } from './partitions.ts';
import type { Tables } from './tables.ts';

/** Entries looked at before the event loop gets its turn. */
const STRIDE = 1_000;

/** Looks at everything in one snapshot, so that writes going on meanwhile are not mistaken for damage. */
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

/** What the records of a partition add up to. */
interface Totals {
  size: number;
  checksum: number;
  bytes: number;
}

class Check {
  readonly #tables: Tables;
  readonly #transaction: Transaction;
  readonly #reader: RecordReader;
  #looked = 0;

  constructor(tables: Tables, transaction: Transaction, reader: RecordReader) {
    this.#tables = tables;
    this.#transaction = transaction;
    this.#reader = reader;
  }

  async *partitions(): AsyncIterable<Finding> {
    const numbers = new Set<number>();
    for (const { key, value } of this.#tables.partitions.getRange({ transaction: this.#transaction })) {
      const kept = JSON.parse(value) as StoredPartition;
      numbers.add(kept.number);
      yield* this.#partition(partitionKeyOf(key), kept);
    }
    yield* this.#orphans(numbers);
  }

  async *#partition(partition: PartitionKey, kept: StoredPartition): AsyncIterable<Finding> {
    const live = { size: 0, checksum: 0, bytes: 0 };
    for await (const finding of this.#live(kept, live)) yield { partition, ...finding };
    const tombstones = { count: 0 };
    for await (const finding of this.#tombstones(kept, tombstones)) yield { partition, ...finding };
    for await (const finding of this.#index(kept)) yield { partition, ...finding };
    if (live.size !== kept.size) {
      yield { partition, problem: 'wrong_size', detail: `${kept.size} objects noted, ${live.size} found` };
    }
    // Records that are missing or others than noted have been named, and their bytes with them.
    const isElseRight = live.size === kept.size && live.checksum === kept.checksum;
    if (isElseRight && live.bytes !== kept.bytes) {
      yield { partition, problem: 'wrong_size', detail: `${kept.bytes} bytes noted, ${live.bytes} found` };
    }
    if (tombstones.count !== kept.tombstones) {
      yield {
        partition,
        problem: 'wrong_size',
        detail: `${kept.tombstones} tombstones noted, ${tombstones.count} found`,
      };
    }
    if (live.checksum !== kept.checksum) {
      yield { partition, problem: 'wrong_checksum', detail: `${kept.checksum} noted, ${live.checksum} computed` };
    }
  }

  async *#live(kept: StoredPartition, totals: Totals): AsyncIterable<PartitionFinding> {
    for (const { key, value } of this.#tables.live.getRange(this.#journalRange(kept))) {
      const records = attempt(() => liveRecordsOf({ runSeq: key[1], value }));
      if (records === null) yield { problem: 'unreadable', detail: `the run at ${key[1]}` };
      for (const record of records ?? []) {
        await this.#breathe();
        yield* this.#record(kept, record, totals);
      }
    }
  }

  *#record(kept: StoredPartition, { seq, record }: LiveRecord, totals: Totals): Iterable<PartitionFinding> {
    if (seq > kept.head) yield { problem: 'seq_beyond_head', detail: `an object at ${seq}, head ${kept.head}` };
    const read = attempt(() => this.#reader(record));
    if (read === null) {
      yield { problem: 'unreadable', detail: `the record at ${seq}` };
      return;
    }
    totals.size++;
    totals.bytes += Buffer.byteLength(record);
    totals.checksum = addChecksums(totals.checksum, read.checksum);
    yield* this.#indexEntry(kept, read.id, { seq, isLive: true, checksum: read.checksum });
  }

  async *#tombstones(kept: StoredPartition, totals: { count: number }): AsyncIterable<PartitionFinding> {
    for (const { key, value: id } of this.#tables.tombstones.getRange(this.#journalRange(kept))) {
      await this.#breathe();
      totals.count++;
      if (key[1] > kept.head)
        yield { problem: 'seq_beyond_head', detail: `a tombstone at ${key[1]}, head ${kept.head}` };
      if (key[1] <= kept.floor) yield { problem: 'grave_below_floor', detail: `at ${key[1]}, floor ${kept.floor}` };
      yield* this.#indexEntry(kept, id, { seq: key[1], isLive: false, checksum: 0 });
    }
  }

  *#indexEntry(kept: StoredPartition, id: string, found: IndexEntry): Iterable<PartitionFinding> {
    const bytes = this.#tables.index.get([kept.number, id], { transaction: this.#transaction });
    const entry = bytes === undefined ? null : decodeIndexEntry(bytes);
    if (entry === null || entry.seq !== found.seq || entry.isLive !== found.isLive) {
      yield { problem: 'missing_from_index', detail: `object ${JSON.stringify(id)} at ${found.seq}` };
    } else if (entry.checksum !== found.checksum) {
      yield { problem: 'wrong_object_checksum', detail: `object ${JSON.stringify(id)} at ${found.seq}` };
    }
  }

  async *#index(kept: StoredPartition): AsyncIterable<PartitionFinding> {
    const { number: partition } = kept;
    const range = { ...objectsOf(partition), transaction: this.#transaction };
    const records = new RecordFinder(this.#tables, partition, this.#transaction);
    for (const { key, value } of this.#tables.index.getRange(range)) {
      await this.#breathe();
      const { seq, isLive } = decodeIndexEntry(value);
      if (!(isLive ? attempt(() => records.at(seq)) !== null : this.#isTombstone([partition, seq]))) {
        yield { problem: 'missing_from_journal', detail: `object ${JSON.stringify(key[1])}, expected at ${seq}` };
      }
    }
  }

  #isTombstone(place: JournalKey): boolean {
    return this.#tables.tombstones.get(place, { transaction: this.#transaction }) !== undefined;
  }

  /** What belongs to no partition. */
  async *#orphans(numbers: ReadonlySet<number>): AsyncIterable<Finding> {
    const keys: readonly (readonly [string, Iterable<number>])[] = [
      ['live', this.#firsts(this.#tables.live, ALL_JOURNALS)],
      ['tombstones', this.#firsts(this.#tables.tombstones, ALL_JOURNALS)],
      ['index', this.#firsts(this.#tables.index, ALL_OBJECTS)],
      ['tidemarks', this.#tidemarkPartitions()],
    ];
    for (const [name, partitions] of keys) {
      for (const partition of partitions) {
        await this.#breathe();
        if (!numbers.has(partition)) yield orphan(`an entry of "${name}" for the unknown partition ${partition}`);
      }
    }
  }

  *#firsts<K extends [number, ...Key[]]>(table: Database<unknown, K>, range: { start: K; end: K }): Iterable<number> {
    for (const [partition] of table.getKeys({ ...range, transaction: this.#transaction })) yield partition;
  }

  *#tidemarkPartitions(): Iterable<number> {
    for (const key of this.#tables.tidemarks.getKeys({ transaction: this.#transaction })) yield readNumber(key, 0);
  }

  async *documents(): AsyncIterable<Finding> {
    const kept = new Map<number, KeptDocument>();
    for (const { value } of this.#tables.documents.getRange({ transaction: this.#transaction })) {
      const document = JSON.parse(value) as KeptDocument;
      kept.set(document.number, document);
    }
    const found = new Map<number, { partCount: number; units: number }>();
    for (const { key, value } of this.#tables.parts.getRange({ transaction: this.#transaction })) {
      await this.#breathe();
      const number = readNumber(key, 0);
      const totals = found.get(number) ?? { partCount: 0, units: 0 };
      found.set(number, { partCount: totals.partCount + 1, units: totals.units + value.length });
      if (!kept.has(number)) yield orphan(`a part of the unknown document ${number}`);
    }
    for (const [number, { partCount, units }] of kept) {
      const totals = found.get(number) ?? { partCount: 0, units: 0 };
      if (totals.partCount === partCount && totals.units === units) continue;
      const detail = `document ${number}: ${partCount} parts and ${units} units noted, ${totals.partCount} and ${totals.units} found`;
      yield { partition: null, problem: 'wrong_size', detail };
    }
  }

  jobs(): AsyncIterable<Finding> {
    return verifyJobs(this.#tables, this.#transaction, () => this.#breathe());
  }

  #journalRange({ number: partition }: StoredPartition) {
    return { ...journalAfter(partition, -1), transaction: this.#transaction };
  }

  async #breathe(): Promise<void> {
    if (++this.#looked % STRIDE === 0) await new Promise((resolve) => setImmediate(resolve));
  }
}

/** Null: it cannot be read. */
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
