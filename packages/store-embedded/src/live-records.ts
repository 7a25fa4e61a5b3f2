import { asBinary, type Transaction } from 'lmdb';
import { type BorrowedBytes, copyOf } from './borrowed-bytes.ts';
import type { JournalKey } from './keys.ts';
import { decodeRun, encodeRun, RUN_BYTES_MAX, RunBuilder, type RunRecord, recordInRun } from './runs.ts';
import type { Tables } from './tables.ts';

// The records of live objects by seq, in the runs of the table `live` (runs.ts).

export interface LiveRecord {
  readonly seq: number;
  readonly record: string;
}

/** A run as it is stored. */
interface StoredRun {
  readonly runSeq: number;
  readonly value: BorrowedBytes;
}

export function liveRecordsOf({ runSeq, value }: StoredRun): readonly LiveRecord[] {
  return decodeRun(value, runSeq).map(({ seq, bytes }) => ({ seq, record: bytes.toString() }));
}

export function* liveRecords(
  tables: Tables,
  range: { readonly start: JournalKey; readonly end: JournalKey; readonly transaction?: Transaction },
): Iterable<LiveRecord> {
  for (const { key, value } of tables.live.getRange(range)) yield* liveRecordsOf({ runSeq: key[1], value });
}

/** Looks up records by seq. It keeps a run that was needed twice in a row, so that reading a run in order stays cheap. */
export class RecordFinder {
  readonly #tables: Tables;
  readonly #partition: number;
  readonly #options: { readonly transaction?: Transaction };
  #lastRunSeq = -1;
  #run: StoredRun | null = null;

  /** Without a transaction, it reads the current state. */
  constructor(tables: Tables, partition: number, transaction?: Transaction) {
    this.#tables = tables;
    this.#partition = partition;
    this.#options = transaction === undefined ? {} : { transaction };
  }

  /** Returns null when no live record has this seq. */
  at(seq: number): string | null {
    const known = this.#run === null ? null : recordIn(this.#run, seq);
    if (known !== null) return known;
    const run = findRun(this.#tables, this.#partition, seq, this.#options);
    if (run === null) return null;
    // Most look-ups are of a single record, so the first one of a run does not copy it.
    this.#run = run.runSeq === this.#lastRunSeq ? { runSeq: run.runSeq, value: copyOf(run.value) } : null;
    this.#lastRunSeq = run.runSeq;
    return recordIn(this.#run ?? run, seq);
  }
}

function recordIn({ runSeq, value }: StoredRun, seq: number): string | null {
  return seq > runSeq ? null : recordInRun(value, runSeq, seq);
}

/** Finds the run that holds the record with this seq, if there is such a record: the first run at or behind it. */
function findRun(
  tables: Tables,
  partition: number,
  seq: number,
  options: { readonly transaction?: Transaction } = {},
): StoredRun | null {
  // A look-up costs a fraction of a range, and finds every record that has a run of its own.
  const exact = tables.live.get([partition, seq], options);
  if (exact !== undefined) return { runSeq: seq, value: exact };
  const range = { start: [partition, seq + 1] as JournalKey, end: [partition + 1, 0] as JournalKey, limit: 1 };
  for (const { key, value } of tables.live.getRange({ ...range, ...options })) return { runSeq: key[1], value };
  return null;
}

// Writing: these run in the writer's transaction

/** Removes records, which must exist, and returns how many bytes they had. */
export function removeRecords(tables: Tables, partition: number, seqs: readonly number[]): number {
  let bytes = 0;
  const ascending = seqs.toSorted((left, right) => left - right);
  for (let index = 0; index < ascending.length; ) {
    const seq = ascending[index] ?? 0;
    const run = findRun(tables, partition, seq);
    if (run === null) throw missing(seq);
    const leaving = new Set<number>();
    for (; index < ascending.length && (ascending[index] ?? 0) <= run.runSeq; index++) {
      leaving.add(ascending[index] ?? 0);
    }
    bytes += removeFromRun(tables, partition, run, leaving);
  }
  return bytes;
}

function removeFromRun(
  tables: Tables,
  partition: number,
  { runSeq, value }: StoredRun,
  leaving: ReadonlySet<number>,
): number {
  const records = decodeRun(value, runSeq);
  const staying = records.filter(({ seq }) => !leaving.has(seq));
  if (records.length - staying.length !== leaving.size) throw missing(Math.min(...leaving));
  if (staying.length === 0) tables.live.remove([partition, runSeq]);
  else tables.live.put([partition, runSeq], asStored(encodeRun(staying, runSeq)));
  return bytesOf(records) - bytesOf(staying);
}

function bytesOf(records: readonly RunRecord[]): number {
  let sum = 0;
  for (const { bytes } of records) sum += bytes.length;
  return sum;
}

function missing(seq: number): Error {
  return new Error(`the record at seq ${seq} is missing; run verify`);
}

/** Appends records to a journal in the order of their seqs. The first ones join the last run while it has room. */
export class RecordAppender {
  readonly #tables: Tables;
  readonly #partition: number;
  readonly #head: number;
  #run: RunBuilder | null = null;

  /** `head` is the newest seq of the journal. */
  constructor(tables: Tables, partition: number, head: number) {
    this.#tables = tables;
    this.#partition = partition;
    this.#head = head;
  }

  add(record: RunRecord): void {
    this.#run ??= this.#openLastRun(record);
    if (!this.#run.hasRoomFor(record)) {
      this.flush();
      this.#run = new RunBuilder();
    }
    this.#run.add(record);
  }

  flush(): void {
    const records = this.#run?.records ?? [];
    const last = records.at(-1);
    if (last !== undefined) this.#tables.live.put([this.#partition, last.seq], asStored(encodeRun(records, last.seq)));
  }

  /** Returns an empty run when the newest entry is a tombstone, or the last run has no room for the first new record. */
  #openLastRun(first: RunRecord): RunBuilder {
    const key: JournalKey = [this.#partition, this.#head];
    const value = this.#tables.live.get(key);
    if (value === undefined || value.length > RUN_BYTES_MAX) return new RunBuilder();
    const run = new RunBuilder(decodeRun(value, this.#head));
    if (!run.hasRoomFor(first)) return new RunBuilder();
    this.#tables.live.remove(key);
    return run;
  }
}

/** Tells the library to store the bytes as they are. Its types do not know that it can be told so. */
function asStored(bytes: Buffer): Buffer {
  return asBinary(bytes) as unknown as Buffer;
}
