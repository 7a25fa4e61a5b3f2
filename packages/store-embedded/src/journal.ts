import {
  type CommitResult,
  type JoinedSlice,
  type JournalRange,
  type JournalSlice,
  type JournalStore,
  type ObjectsRead,
  type PartitionKey,
  type RecordCount,
  readCommitTimes,
  type SeqRange,
  type StoredObject,
} from '@tidemark/core/ports';
import { type BorrowedBytes, viewOf } from './borrowed-bytes.ts';
import { changedSince } from './changes.ts';
import { type EngineContext, yieldAfterRead } from './engine-context.ts';
import { type JournalKey, journalAfter, NUMBER_MAX } from './keys.ts';
import { RecordFinder } from './live-records.ts';
import { readIndexEntry } from './object-index.ts';
import { listPartitions, type PartitionRow, readPartition, stateOf } from './partitions.ts';
import { readRetainedBytes } from './retained-bytes.ts';
import { countInRun, decodeRun, readRunHead } from './runs.ts';
import type { Tables } from './tables.ts';

/** Text that is copied in whole runs takes a small part of the time of text that is decoded. */
const JOINED_UNITS_PER_UNIT = 20;

export function journal({ read, write }: EngineContext, trimStepMax: number): JournalStore {
  return {
    async partition(key) {
      const tables = read();
      return stateOf(tables, readPartition(tables, key));
    },

    size: async (key) => readPartition(read(), key)?.size ?? 0,

    async bytes(key) {
      const tables = read();
      return (readPartition(tables, key)?.bytes ?? 0) + readRetainedBytes(tables, key);
    },

    async readObjects(key, ids) {
      const found = readObjects(read(), key, ids);
      await yieldAfterRead(ids.length);
      return found;
    },

    async readJournal(key, range) {
      const slice = readJournal(read(), key, range);
      const units = slice.records.reduce((sum, { length }) => sum + length, 0);
      await yieldAfterRead(slice.records.length + slice.tombstones.length, units);
      return slice;
    },

    async readJoined(key, range) {
      const slice = readJoined(read(), key, range);
      await yieldAfterRead(slice.tombstones.length, slice.records.length / JOINED_UNITS_PER_UNIT);
      return slice;
    },

    async countRecords(key, range) {
      const counted = countRecords(read(), key, range);
      await yieldAfterRead(counted.count / JOINED_UNITS_PER_UNIT);
      return counted;
    },

    commit: (commit) => write<CommitResult>({ kind: 'commit', commit }),

    trim: (partition, upTo) => write({ kind: 'trim', partition, upTo, tombstonesMax: trimStepMax }),

    commitTimes: async (key) => readCommitTimes(readPartition(read(), key)?.times ?? ''),

    partitions: async ({ after, limit }) => listPartitions(read(), after, limit),

    changedSince: async (query) => changedSince(read(), query),
  };
}

function readObjects(tables: Tables, key: PartitionKey, ids: readonly string[]): ObjectsRead {
  const partition = readPartition(tables, key);
  const objects = new Map<string, StoredObject>();
  if (partition !== null) {
    const finder = new RecordFinder(tables, partition.number);
    for (const id of ids) {
      const entry = readIndexEntry(tables, partition.number, id);
      if (entry === null) continue;
      const record = entry.isLive ? finder.at(entry.seq) : null;
      if (entry.isLive && record === null) throw new Error(`the record at seq ${entry.seq} is missing; run verify`);
      objects.set(id, { seq: entry.seq, record });
    }
  }
  return { state: stateOf(tables, partition), objects };
}

function readJournal(tables: Tables, key: PartitionKey, range: JournalRange): JournalSlice {
  const records: string[] = [];
  const seqs: number[] = [];
  const slice = readSlice(tables, key, range, (value, runSeq, merge) => {
    for (const { seq, bytes, units } of decodeRun(value, runSeq)) {
      if (seq <= range.after) continue;
      if (!merge.takeRecord(seq, units)) return false;
      records.push(bytes.toString());
      seqs.push(seq);
    }
    return true;
  });
  return { ...slice, records, seqs };
}

/** Like `readJournal`, with the records joined. A run that fits whole is copied without a look at its records. */
function readJoined(tables: Tables, key: PartitionKey, range: JournalRange): JoinedSlice {
  const joined = new JoinedRecords();
  const slice = readSlice(tables, key, range, (value, runSeq, merge) => {
    const head = readRunHead(value, runSeq);
    if (head.firstSeq > range.after && merge.takeRun(head.lastSeq, head.count, head.units)) {
      joined.add(viewOf(value, head.textStart), head.count, head.isOneLine);
      return true;
    }
    for (const { seq, bytes, units } of decodeRun(value, runSeq)) {
      if (seq <= range.after) continue;
      if (!merge.takeRecord(seq, units)) return false;
      joined.add(bytes, 1, head.isOneLine);
    }
    return true;
  });
  return { ...slice, ...joined.take() };
}

function countRecords(tables: Tables, key: PartitionKey, { after, upTo }: SeqRange): RecordCount {
  const partition = readPartition(tables, key);
  let count = 0;
  if (partition !== null && after < upTo) {
    for (const { key: runKey, value } of tables.live.getRange(journalAfter(partition.number, after))) {
      const head = readRunHead(value, runKey[1]);
      if (head.firstSeq > upTo) break;
      const isInside = head.firstSeq > after && head.lastSeq <= upTo;
      count += isInside ? head.count : countInRun(value, runKey[1], (seq) => seq > after && seq <= upTo);
    }
  }
  return { state: stateOf(tables, partition), count };
}

/** Takes the records of a run into the slice. Returns false when the slice is full. */
type VisitRun = (value: BorrowedBytes, runSeq: number, merge: SliceMerge) => boolean;

/** Live records and tombstones are stored in two tables; a slice merges both by seq until it is full. */
function readSlice(
  tables: Tables,
  key: PartitionKey,
  range: JournalRange,
  visit: VisitRun,
): Pick<JournalSlice, 'state' | 'tombstones' | 'upTo'> {
  if (range.entriesMax < 1) throw new Error('a slice must have room for at least one entry');
  const partition = readPartition(tables, key);
  const state = stateOf(tables, partition);
  if (partition === null || range.after >= partition.head) return { state, tombstones: [], upTo: state.head };
  const tombstones = new TombstoneCursor(tables, partition, Math.max(range.after, range.tombstonesAfter));
  const merge = new SliceMerge(range, tombstones);
  try {
    let isComplete = true;
    for (const { key: runKey, value } of tables.live.getRange(journalAfter(partition.number, range.after))) {
      isComplete = visit(value, runKey[1], merge);
      if (!isComplete) break;
    }
    isComplete &&= merge.takeTombstonesBelow(NUMBER_MAX);
    return { state, tombstones: merge.tombstoneIds, upTo: isComplete ? state.head : merge.upTo };
  } finally {
    tombstones.close();
  }
}

/** Holds the bounds of a slice while it is filled in the order of seqs, and adds the tombstones between its records. */
class SliceMerge {
  readonly #range: JournalRange;
  readonly #tombstones: TombstoneCursor;
  readonly tombstoneIds: string[] = [];
  #entries = 0;
  #units = 0;
  /** The seq of the last entry that was taken. */
  upTo: number;

  constructor(range: JournalRange, tombstones: TombstoneCursor) {
    this.#range = range;
    this.#tombstones = tombstones;
    this.upTo = range.after;
  }

  /** Takes the tombstones below a record, then the record. Returns false when there is no room for all of them. */
  takeRecord(seq: number, units: number): boolean {
    return this.takeTombstonesBelow(seq) && this.#take(seq, 1, units);
  }

  /** Takes all records of a run at once. Returns false, and takes none, when a tombstone precedes one or room is short. */
  takeRun(lastSeq: number, records: number, units: number): boolean {
    return this.#tombstones.seq > lastSeq && this.#take(lastSeq, records, units);
  }

  takeTombstonesBelow(seq: number): boolean {
    const tombstones = this.#tombstones;
    while (tombstones.seq < seq) {
      if (!this.#take(tombstones.seq, 1, tombstones.id.length)) return false;
      this.tombstoneIds.push(tombstones.id);
      tombstones.advance();
    }
    return true;
  }

  /** The first entry of a slice fits whatever its size. */
  #take(seq: number, entries: number, entryUnits: number): boolean {
    const units = this.#units + entryUnits;
    const isFirst = this.#entries === 0 && entries === 1;
    if (!isFirst && (this.#entries + entries > this.#range.entriesMax || units > this.#range.unitsMax)) return false;
    this.#entries += entries;
    this.#units = units;
    this.upTo = seq;
    return true;
  }
}

/** Walks over the tombstones of a partition. Behind the last one, `seq` is infinite. */
class TombstoneCursor {
  readonly #entries: Iterator<{ readonly key: JournalKey; readonly value: string }> | null;
  seq = Number.POSITIVE_INFINITY;
  id = '';

  constructor(tables: Tables, { number, tombstones, head }: PartitionRow, after: number) {
    const isEmpty = tombstones === 0 || after >= head;
    this.#entries = isEmpty ? null : tables.tombstones.getRange(journalAfter(number, after))[Symbol.iterator]();
    this.advance();
  }

  advance(): void {
    const next = this.#entries?.next();
    const isEnd = next === undefined || next.done === true;
    this.seq = isEnd ? Number.POSITIVE_INFINITY : next.value.key[1];
    this.id = isEnd ? '' : next.value.value;
  }

  close(): void {
    this.#entries?.return?.();
  }
}

const COMMA = 0x2c;
const TARGET_BYTES_MIN = 4_096;
/** Up to this share of unused memory, the slice is returned without a copy. */
const UNUSED_SHARE_MAX = 0.25;
/** Consecutive slices have about the same size. */
const GUESS_MARGIN = 1.05;

/** The size of the last slice that this thread read: the best guess for the next one. */
let lastBytes = TARGET_BYTES_MIN;

/**
 * Copies records, one or several at a time, into memory of its own and puts commas between them. No other slice ever
 * shares this memory, because a page is sent from it while the next ones are read.
 */
class JoinedRecords {
  #target = Buffer.allocUnsafeSlow(Math.ceil(lastBytes * GUESS_MARGIN));
  #bytes = 0;
  #isOneLine = true;
  count = 0;

  /** Adds `count` records that are joined with commas already. `isOneLine`: none of them contains a line feed. */
  add(records: Uint8Array, count: number, isOneLine: boolean): void {
    const comma = this.count === 0 ? 0 : 1;
    this.#ensureRoom(comma + records.length);
    if (comma === 1) this.#target[this.#bytes] = COMMA;
    this.#target.set(records, this.#bytes + comma);
    this.#bytes += comma + records.length;
    this.count += count;
    this.#isOneLine &&= isOneLine;
  }

  /** Returns all records. They are copied once more when too much of the memory is unused. */
  take(): Required<Pick<JoinedSlice, 'count' | 'records' | 'isOneLine'>> {
    lastBytes = Math.max(TARGET_BYTES_MIN, this.#bytes);
    const unused = this.#target.length - this.#bytes;
    const records =
      unused <= this.#target.length * UNUSED_SHARE_MAX ? this.#target.subarray(0, this.#bytes) : this.#exact();
    return { count: this.count, records, isOneLine: this.#isOneLine };
  }

  #exact(): Buffer {
    const exact = Buffer.allocUnsafeSlow(this.#bytes);
    this.#target.copy(exact, 0, 0, this.#bytes);
    return exact;
  }

  #ensureRoom(bytes: number): void {
    if (this.#bytes + bytes <= this.#target.length) return;
    const grown = Buffer.allocUnsafeSlow(2 * (this.#bytes + bytes));
    this.#target.copy(grown, 0, 0, this.#bytes);
    this.#target = grown;
  }
}
