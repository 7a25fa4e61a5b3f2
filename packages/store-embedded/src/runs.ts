import { copyOf, type FleetingBytes, textOf } from './fleeting-bytes.ts';
import { type Gaps, NO_GAPS } from './gaps.ts';

/**
 * A run: records that stand one behind the other in the journal, kept as one value. To read, join and send a thousand
 * small records costs many times what their bytes cost, so what is written together, or one after the other, is kept
 * together (docs/decisions/0034). A run stands under a seq that none of its records exceeds, and that is below those
 * of all records behind it.
 *
 * What is written at once makes long runs, which are read fastest; what goes from them leaves gaps (`gaps.ts`). One record
 * after the other makes short runs, of which each change writes all: that is a page.
 *
 *     number of records (2) · their UTF-16 units (2) · for each record: how far its seq is below that of the run (2), its
 *     bytes (2) · the records as UTF-8, with commas in between
 *
 * Numbers have their most significant byte first. The first bit of the first one says that no line feed stands in the
 * records; format 2 did not say. So what a first sync sends is the rest of each run, as it is, without a look at it.
 */
const ONE_LINE = 0x8000;
const LINE_FEED = 0x0a;
const HEAD_BYTES = 4;
const RECORD_HEAD_BYTES = 4;
export const COMMA_BYTES = 1;
const COMMA = 0x2c;

/** The largest values that take eight pages of the file and one: the first has 16 bytes of its own. */
export const LONG_RUN_BYTES_MAX = 8 * 4_096 - 16;
export const SHORT_RUN_BYTES_MAX = 4_096 - 16;
/** A larger record stands alone: it would leave little room for others, and be written again with each of them. */
export const RUN_RECORD_BYTES_MAX = 1_024;

/** How far the seqs of a run may lie apart. */
const SEQ_SPAN_MAX = 2 ** 16 - 1;

/** A record on its way into a run. */
export interface RunRecord {
  readonly seq: number;
  readonly bytes: Uint8Array;
  readonly units: number;
}

/** A record as it was found in one. */
export interface FoundRecord extends RunRecord {
  readonly bytes: Buffer;
}

/** What can be said of a run without looking at its records. */
export interface RunHead {
  readonly count: number;
  /** UTF-16 units of the records, without the commas. */
  readonly units: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Where the first record begins. */
  readonly textStart: number;
  /** Then a record has as many bytes as units. */
  readonly isAscii: boolean;
  /** Then no line feed stands in the records. */
  readonly isOneLine: boolean;
}

/** `end` is the seq under which the run stands. */
export function runHead(value: FleetingBytes, end: number): RunHead {
  const first = numberAt(value, 0);
  const count = first & ~ONE_LINE;
  const units = numberAt(value, 2);
  const textStart = HEAD_BYTES + count * RECORD_HEAD_BYTES;
  return {
    count,
    units,
    firstSeq: end - numberAt(value, HEAD_BYTES),
    lastSeq: end - numberAt(value, HEAD_BYTES + (count - 1) * RECORD_HEAD_BYTES),
    textStart,
    isAscii: value.length - textStart - (count - 1) * COMMA_BYTES === units,
    isOneLine: first !== count,
  };
}

/** Where a record of a run stands, and how many bytes it has. */
export function recordInRun(
  value: FleetingBytes,
  end: number,
  index: number,
): { readonly seq: number; readonly bytes: number } {
  const head = HEAD_BYTES + index * RECORD_HEAD_BYTES;
  return { seq: end - numberAt(value, head), bytes: numberAt(value, head + 2) };
}

/** Every run that is sent is looked at so, and `readUInt16BE` takes several times as long. */
function numberAt(value: FleetingBytes, at: number): number {
  return ((value[at] ?? 0) << 8) | (value[at + 1] ?? 0);
}

/** A record of a run and where it begins. */
interface Step {
  readonly seq: number;
  readonly start: number;
  readonly bytes: number;
  /** Whether it is there no more. */
  readonly isGap: boolean;
}

/** Goes over the records of a run. One that is damaged, or whose gaps are none of its records, makes it throw. */
function eachInRun(value: FleetingBytes, end: number, gaps: Gaps, visit: (step: Step) => void): void {
  const { count, textStart } = runHead(value, end);
  let [start, gap] = [textStart, 0];
  for (let index = 0; index < count; index++) {
    const { seq, bytes } = recordInRun(value, end, index);
    const isGap = gaps[gap] === index;
    if (isGap) gap++;
    visit({ seq, start, bytes, isGap });
    start += bytes + COMMA_BYTES;
  }
  const isWhole = count > 0 && start - COMMA_BYTES === value.length && gap === gaps.length;
  if (!isWhole) throw new Error(`the run at seq ${end} is damaged; run verify`);
}

/** The records of a run, in bytes of their own. */
export function recordsOfRun(value: FleetingBytes, end: number, gaps = NO_GAPS): FoundRecord[] {
  const { isAscii } = runHead(value, end);
  const copy = copyOf(value);
  const records: FoundRecord[] = [];
  eachInRun(copy, end, gaps, ({ seq, start, bytes: length, isGap }) => {
    if (isGap) return;
    const bytes = copy.subarray(start, start + length);
    records.push({ seq, bytes, units: isAscii ? bytes.length : bytes.toString().length });
  });
  return records;
}

/** One record of a run; null: it is not in there. */
export function textInRun(value: FleetingBytes, end: number, seq: number, gaps = NO_GAPS): string | null {
  let found: string | null = null;
  eachInRun(value, end, gaps, (step) => {
    if (step.seq === seq && !step.isGap) found = textOf(value, step.start, step.start + step.bytes);
  });
  return found;
}

/** The gaps of a run when records with these seqs have gone as well, and the bytes of these. Null: one is not in it. */
export function gapsWithout(
  value: FleetingBytes,
  end: number,
  gaps: Gaps,
  leaving: ReadonlySet<number>,
): { readonly gaps: Gaps; readonly bytes: number } | null {
  let leavingBytes = 0;
  const all: number[] = [];
  let index = 0;
  let left = 0;
  eachInRun(value, end, gaps, ({ seq, bytes, isGap }) => {
    const isLeaving = !isGap && leaving.has(seq);
    if (isLeaving) {
      left++;
      leavingBytes += bytes;
    }
    if (isGap || isLeaving) all.push(index);
    index++;
  });
  return left === leaving.size ? { gaps: all, bytes: leavingBytes } : null;
}

/** Gathers the records of a run. */
export class RunBuilder {
  readonly records: RunRecord[] = [];
  #bytes = HEAD_BYTES;

  constructor(records: readonly RunRecord[] = []) {
    for (const record of records) this.add(record);
  }

  /** Into a run of at most so many bytes. An empty run takes anything. */
  fits({ seq, bytes }: RunRecord, bytesMax: number): boolean {
    const [first] = this.records;
    if (first === undefined) return true;
    const isSmall = Math.max(bytes.length, first.bytes.length) <= RUN_RECORD_BYTES_MAX;
    return isSmall && this.#bytes + RECORD_HEAD_BYTES + bytes.length <= bytesMax && seq - first.seq <= SEQ_SPAN_MAX;
  }

  add(record: RunRecord): void {
    this.records.push(record);
    this.#bytes += RECORD_HEAD_BYTES + record.bytes.length + COMMA_BYTES;
  }
}

/**
 * A run without its gaps; null: nothing is left. What stays is copied as it stands, in as few stretches as possible: to
 * take the records apart, only to put them together again, would take several times as long.
 */
export function thinnedRun(value: Buffer, end: number, gaps: Gaps): Buffer | null {
  const { count, isAscii, isOneLine } = runHead(value, end);
  const left = count - gaps.length;
  const textStart = HEAD_BYTES + left * RECORD_HEAD_BYTES;
  const stretches = new Stretches();
  const heads: number[] = [];
  eachInRun(value, end, gaps, ({ seq, start, bytes, isGap }) => {
    if (isGap) return;
    stretches.add(start, start + bytes);
    heads.push(end - seq, bytes);
  });
  if (left === 0) return null;
  const thinned = Buffer.allocUnsafe(textStart + stretches.bytes);
  for (const [index, number] of heads.entries()) putNumber(thinned, HEAD_BYTES + 2 * index, number);
  let at = textStart;
  for (const [start, behind] of stretches.list) {
    if (at > textStart) thinned[at - COMMA_BYTES] = COMMA;
    at += value.copy(thinned, at, start, behind) + COMMA_BYTES;
  }
  const chars = isAscii ? stretches.bytes : thinned.toString('utf8', textStart).length;
  putNumber(thinned, 2, chars - (left - 1) * COMMA_BYTES);
  putCount(thinned, left, isOneLine || !thinned.includes(LINE_FEED, textStart));
  return thinned;
}

/** Parts of a text, those that have nothing but a comma in between as one. */
class Stretches {
  readonly list: [start: number, behind: number][] = [];
  /** Of all of them, with commas in between. */
  bytes = -COMMA_BYTES;

  add(start: number, behind: number): void {
    const last = this.list.at(-1);
    if (last !== undefined && last[1] + COMMA_BYTES === start) last[1] = behind;
    else this.list.push([start, behind]);
    this.bytes += behind - start + COMMA_BYTES;
  }
}

/** Standing under `end`. */
export function runBytes(records: readonly RunRecord[], end: number): Buffer {
  const textStart = HEAD_BYTES + records.length * RECORD_HEAD_BYTES;
  let size = textStart - COMMA_BYTES;
  for (const { bytes } of records) size += bytes.length + COMMA_BYTES;
  const value = Buffer.allocUnsafe(size);
  putNumber(
    value,
    2,
    records.reduce((sum, { units }) => sum + units, 0),
  );
  const isInOnePiece = copyPiece(records, value, textStart);
  let at = textStart;
  for (const [index, { seq, bytes }] of records.entries()) {
    const head = HEAD_BYTES + index * RECORD_HEAD_BYTES;
    putNumber(value, head, end - seq);
    putNumber(value, head + 2, bytes.length);
    if (!isInOnePiece) value.set(bytes, at);
    at += bytes.length;
    if (at < size) value[at++] = COMMA;
  }
  putCount(value, records.length, !value.includes(LINE_FEED, textStart));
  return value;
}

/** What was packed together lies together, with a byte in between: then it is copied at once. */
function copyPiece(records: readonly RunRecord[], value: Buffer, start: number): boolean {
  const [first, last] = [records[0]?.bytes, records.at(-1)?.bytes];
  if (first === undefined || last === undefined || first.buffer !== last.buffer) return false;
  const length = last.byteOffset + last.length - first.byteOffset;
  if (length !== value.length - start || !areNeighbours(records)) return false;
  value.set(new Uint8Array(first.buffer, first.byteOffset, length), start);
  return true;
}

function areNeighbours(records: readonly RunRecord[]): boolean {
  let next = records[0]?.bytes.byteOffset;
  for (const { bytes } of records) {
    if (bytes.byteOffset !== next) return false;
    next += bytes.length + COMMA_BYTES;
  }
  return true;
}

function putCount(value: Buffer, count: number, isOneLine: boolean): void {
  putNumber(value, 0, count | (isOneLine ? ONE_LINE : 0));
}

function putNumber(value: Buffer, at: number, number: number): void {
  value[at] = number >>> 8;
  value[at + 1] = number;
}
