import { asBinary, type Transaction } from 'lmdb';
import { copyOf, type FleetingBytes, textOf } from './fleeting-bytes.ts';
import type { LivePlace } from './keys.ts';
import {
  LONG_RUN_BYTES_MAX,
  RUN_RECORD_BYTES_MAX,
  RunBuilder,
  type RunRecord,
  recordsOfRun,
  runBytes,
  SHORT_RUN_BYTES_MAX,
  ThinnedRun,
  textInRun,
} from './runs.ts';
import type { Tables } from './tables.ts';

/** A record where it stands in the journal. */
export interface PlacedRecord {
  readonly seq: number;
  readonly record: string;
}

/** The records that stand at a place, behind a seq. */
export function recordsAt([, end, isRun]: LivePlace, value: FleetingBytes, after = -1): readonly PlacedRecord[] {
  if (isRun !== true) return end > after ? [{ seq: end, record: textOf(value) }] : [];
  return recordsOfRun(value, end).flatMap(({ seq, bytes }) => (seq > after ? [{ seq, record: bytes.toString() }] : []));
}

/** One by one, whatever they are kept with. */
export function* liveRecords(
  tables: Tables,
  range: { readonly start: LivePlace; readonly end: LivePlace; readonly transaction?: Transaction },
): Iterable<PlacedRecord> {
  for (const { key, value } of tables.live.getRange(range)) yield* recordsAt(key, value);
}

/** Looks up records by their seqs. Neighbours are found together, so those who ask in order pay for each run once. */
export class RecordFinder {
  readonly #tables: Tables;
  readonly #partition: number;
  readonly #within: { readonly transaction?: Transaction };
  #run: { readonly end: number; readonly value: Buffer } | null = null;

  /** Without a transaction, of the state that is there now. */
  constructor(tables: Tables, partition: number, transaction?: Transaction) {
    this.#tables = tables;
    this.#partition = partition;
    this.#within = transaction === undefined ? {} : { transaction };
  }

  /** Null: nothing stands there. */
  at(seq: number): string | null {
    const known = this.#inRun(seq);
    if (known !== null) return known;
    const alone = this.#tables.live.get([this.#partition, seq], this.#within);
    if (alone !== undefined) return textOf(alone);
    const around = valueAround(this.#tables, this.#partition, seq, this.#within);
    this.#run = around === null ? null : { end: around.end, value: copyOf(around.value) };
    return this.#inRun(seq);
  }

  #inRun(seq: number): string | null {
    return this.#run === null || seq > this.#run.end ? null : textInRun(this.#run.value, this.#run.end, seq);
  }

  has(seq: number): boolean {
    return this.at(seq) !== null;
  }
}

/** The run in which a record with this seq would stand. */
function valueAround(
  tables: Tables,
  partition: number,
  seq: number,
  within: { readonly transaction?: Transaction } = {},
): { readonly end: number; readonly value: FleetingBytes } | null {
  const [start, end]: [LivePlace, LivePlace] = [
    [partition, seq],
    [partition + 1, 0],
  ];
  for (const { key, value } of tables.live.getRange({ start, end, limit: 1, ...within })) {
    return key[2] === true ? { end: key[1], value } : null;
  }
  return null;
}

// Writing: these run in the writer's transaction

/** Takes records away from where they stand. */
export function removeRecords(tables: Tables, partition: number, seqs: readonly number[]): void {
  const ascending = seqs.toSorted((left, right) => left - right);
  for (let index = 0; index < ascending.length; ) {
    const seq = ascending[index] ?? 0;
    if (tables.live.get([partition, seq]) !== undefined) {
      tables.live.remove([partition, seq]);
      index++;
      continue;
    }
    const around = valueAround(tables, partition, seq);
    if (around === null) throw missing(seq);
    const leaving = new Set<number>();
    for (; index < ascending.length && (ascending[index] ?? 0) <= around.end; index++) {
      leaving.add(ascending[index] ?? 0);
    }
    removeFromRun(tables, [partition, around.end, true], copyOf(around.value), leaving);
  }
}

/** Takes away records of a run, all of which must stand in it. */
function removeFromRun(tables: Tables, place: LivePlace, value: Buffer, leaving: ReadonlySet<number>): void {
  const [partition, end] = place;
  const run = new ThinnedRun(value, end);
  for (const seq of leaving) if (!run.seqs.includes(seq)) throw missing(seq);
  const left = run.without(leaving);
  if (left.length === 0) tables.live.remove(place);
  for (const piece of left) tables.live.put([partition, piece.end, true], asBytes(piece.value));
}

function missing(seq: number | undefined): Error {
  return new Error(`the record at seq ${seq} is missing; run verify`);
}

/** Puts records at the end of a journal, in the order of their seqs: into the last run while there is room. */
export class LiveWriter {
  readonly #tables: Tables;
  readonly #partition: number;
  readonly #head: number;
  #run: RunBuilder | null = null;

  /** `head`: the newest seq there was. */
  constructor(tables: Tables, partition: number, head: number) {
    this.#tables = tables;
    this.#partition = partition;
    this.#head = head;
  }

  add(record: RunRecord): void {
    this.#run ??= this.#begin(record);
    if (!this.#run.fits(record, LONG_RUN_BYTES_MAX)) {
      this.flush();
      this.#run = new RunBuilder();
    }
    this.#run.add(record);
  }

  flush(): void {
    const records = this.#run?.records ?? [];
    const last = records.at(-1);
    if (last === undefined) return;
    if (records.length === 1) this.#tables.live.put([this.#partition, last.seq], asBytes(last.bytes));
    else putRun(this.#tables, [this.#partition, last.seq, true], records);
  }

  /** With what was written last, when that is short and stays so with the first of the new ones. */
  #begin(first: RunRecord): RunBuilder {
    const last = lastRun(this.#tables, this.#partition, this.#head);
    const run = new RunBuilder(last?.records);
    if (last === null || !run.fits(first, SHORT_RUN_BYTES_MAX)) return new RunBuilder();
    this.#tables.live.remove(last.place);
    return run;
  }
}

interface LastRun {
  readonly place: LivePlace;
  readonly records: readonly RunRecord[];
}

/** What stands at the head of a journal. Null when that is a tombstone, or nothing that could be added to. */
function lastRun(tables: Tables, partition: number, head: number): LastRun | null {
  if (head === 0) return null;
  const alone = tables.live.get([partition, head]);
  if (alone !== undefined) {
    if (alone.length > RUN_RECORD_BYTES_MAX) return null;
    const bytes = copyOf(alone);
    return { place: [partition, head], records: [{ seq: head, bytes, units: bytes.toString().length }] };
  }
  const run = tables.live.get([partition, head, true]);
  return run === undefined ? null : { place: [partition, head, true], records: recordsOfRun(run, head) };
}

function putRun(tables: Tables, place: LivePlace, records: readonly RunRecord[]): void {
  tables.live.put(place, asBytes(runBytes(records, place[1])));
}

/** The library writes bytes as they are when told so; its types do not say that it may be told. */
function asBytes(bytes: Uint8Array): Buffer {
  return asBinary(bytes as Buffer) as unknown as Buffer;
}
