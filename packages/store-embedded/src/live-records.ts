import { asBinary, type Transaction } from 'lmdb';
import { copyOf, type FleetingBytes, textOf } from './fleeting-bytes.ts';
import { areFew, type Gaps, gapsBytes, NO_GAPS, readGaps } from './gaps.ts';
import type { LivePlace } from './keys.ts';
import {
  gapsWithout,
  LONG_RUN_BYTES_MAX,
  RUN_RECORD_BYTES_MAX,
  RunBuilder,
  type RunRecord,
  recordsOfRun,
  runBytes,
  runHead,
  SHORT_RUN_BYTES_MAX,
  textInRun,
  thinnedRun,
} from './runs.ts';
import type { Tables } from './tables.ts';

/** A record where it stands in the journal. */
export interface PlacedRecord {
  readonly seq: number;
  readonly record: string;
}

/** What stands under a seq: a record, or a run with its gaps. */
export interface LiveValue {
  readonly end: number;
  readonly isRun: boolean;
  readonly value: FleetingBytes;
  readonly gaps: Gaps;
}

/** What stands in a range of `live`. Gaps without their run are a run that cannot be read. */
export function* liveValues(
  entries: Iterable<{ readonly key: LivePlace; readonly value: FleetingBytes }>,
): Iterable<LiveValue> {
  let before: { readonly end: number; readonly gaps: Gaps } | null = null;
  for (const { key, value: found } of entries) {
    const [, end, what] = key;
    let value = found;
    if (before !== null && !(what === 'run' && end === before.end)) {
      value = copyOf(found);
      yield { ...before, isRun: true, value: NOTHING };
      before = null;
    }
    if (what === 'gaps') before = { end, gaps: readGaps(value) };
    else {
      yield { end, isRun: what === 'run', value, gaps: before?.gaps ?? NO_GAPS };
      before = null;
    }
  }
  if (before !== null) yield { ...before, isRun: true, value: NOTHING };
}

const NOTHING = Buffer.alloc(0);

/** The records behind a seq. */
export function recordsIn({ end, isRun, value, gaps }: LiveValue, after = -1): readonly PlacedRecord[] {
  if (!isRun) return end > after ? [{ seq: end, record: textOf(value) }] : [];
  return recordsOfRun(value, end, gaps).flatMap(({ seq, bytes }) =>
    seq > after ? [{ seq, record: bytes.toString() }] : [],
  );
}

/** One by one, whatever they are kept with. */
export function* liveRecords(
  tables: Tables,
  range: { readonly start: LivePlace; readonly end: LivePlace; readonly transaction?: Transaction },
): Iterable<PlacedRecord> {
  for (const value of liveValues(tables.live.getRange(range))) yield* recordsIn(value);
}

/** Looks up records by their seqs. Who asks for several of one run, one after the other, pays for it twice and no more. */
export class RecordFinder {
  readonly #tables: Tables;
  readonly #partition: number;
  readonly #within: { readonly transaction?: Transaction };
  #lastEnd = -1;
  #run: LiveValue | null = null;

  /** Without a transaction, of the state that is there now. */
  constructor(tables: Tables, partition: number, transaction?: Transaction) {
    this.#tables = tables;
    this.#partition = partition;
    this.#within = transaction === undefined ? {} : { transaction };
  }

  /** Null: nothing stands there. */
  at(seq: number): string | null {
    const known = this.#run === null ? null : textIn(this.#run, seq);
    if (known !== null) return known;
    const alone = this.#tables.live.get([this.#partition, seq], this.#within);
    if (alone !== undefined) return textOf(alone);
    const run = runAround(this.#tables, this.#partition, seq, this.#within);
    if (run === null) return null;
    // A run is copied when it is asked for again: most look-ups are of one record.
    this.#run = run.end === this.#lastEnd ? { ...run, value: copyOf(run.value) } : null;
    this.#lastEnd = run.end;
    return textIn(this.#run ?? run, seq);
  }

  has(seq: number): boolean {
    return this.at(seq) !== null;
  }
}

function textIn({ end, value, gaps }: LiveValue, seq: number): string | null {
  return seq > end ? null : textInRun(value, end, seq, gaps);
}

/** The run in which a record with this seq would stand. */
function runAround(
  tables: Tables,
  partition: number,
  seq: number,
  within: { readonly transaction?: Transaction } = {},
): LiveValue | null {
  const [start, end]: [LivePlace, LivePlace] = [
    [partition, seq],
    [partition + 1, 0],
  ];
  for (const value of liveValues(tables.live.getRange({ start, end, limit: 2, ...within }))) {
    return value.isRun ? value : null;
  }
  return null;
}

// Writing: these run in the writer's transaction

/** Takes records away from where they stand; answers how many bytes they had. */
export function removeRecords(tables: Tables, partition: number, seqs: readonly number[]): number {
  let bytes = 0;
  const ascending = seqs.toSorted((left, right) => left - right);
  for (let index = 0; index < ascending.length; ) {
    const seq = ascending[index] ?? 0;
    const alone = tables.live.get([partition, seq]);
    if (alone !== undefined) {
      bytes += alone.length;
      tables.live.remove([partition, seq]);
      index++;
      continue;
    }
    const run = runAround(tables, partition, seq);
    if (run === null) throw missing(seq);
    const leaving = new Set<number>();
    for (; index < ascending.length && (ascending[index] ?? 0) <= run.end; index++) {
      leaving.add(ascending[index] ?? 0);
    }
    bytes += removeFromRun(tables, partition, run, leaving);
  }
  return bytes;
}

/** Takes away records of a run, all of which must stand in it: gaps are noted while they are few, and the run is long. */
function removeFromRun(
  tables: Tables,
  partition: number,
  { end, value, gaps: before }: LiveValue,
  leaving: ReadonlySet<number>,
): number {
  const without = gapsWithout(value, end, before, leaving);
  if (without === null) throw missing(Math.min(...leaving));
  const { gaps, bytes } = without;
  if (value.length > SHORT_RUN_BYTES_MAX && areFew(gaps, runHead(value, end).count)) {
    tables.live.put([partition, end, 'gaps'], asBytes(gapsBytes(gaps)));
    return bytes;
  }
  const left = thinnedRun(copyOf(value), end, gaps);
  if (left === null) tables.live.remove([partition, end, 'run']);
  else tables.live.put([partition, end, 'run'], asBytes(left));
  if (before.length > 0) tables.live.remove([partition, end, 'gaps']);
  return bytes;
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
    else this.#tables.live.put([this.#partition, last.seq, 'run'], asBytes(runBytes(records, last.seq)));
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

/** What stands at the head of a journal. Null when that is a tombstone, or too much to be added to. */
function lastRun(tables: Tables, partition: number, head: number): LastRun | null {
  if (head === 0) return null;
  const alone = tables.live.get([partition, head]);
  if (alone !== undefined) {
    if (alone.length > RUN_RECORD_BYTES_MAX) return null;
    const bytes = copyOf(alone);
    return { place: [partition, head], records: [{ seq: head, bytes, units: bytes.toString().length }] };
  }
  const run = tables.live.get([partition, head, 'run']);
  // One that is short has no gaps.
  if (run === undefined || run.length > SHORT_RUN_BYTES_MAX) return null;
  return { place: [partition, head, 'run'], records: recordsOfRun(run, head) };
}

/** The library writes bytes as they are when told so; its types do not say that it may be told. */
function asBytes(bytes: Uint8Array): Buffer {
  return asBinary(bytes as Buffer) as unknown as Buffer;
}
