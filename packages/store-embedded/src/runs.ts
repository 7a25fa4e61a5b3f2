import { type BorrowedBytes, copyOf, textOf } from './borrowed-bytes.ts';

/**
 * How records are stored: neighbours in the journal share one value, called a run (docs/decisions/0034). Reading, joining
 * and sending a thousand small records costs many times what their bytes cost, so a first sync copies whole runs. A run
 * fits on one page of the file, which LMDB writes whole anyway whenever a record on it changes. A large record is a run
 * of its own.
 *
 *     number of records (2 bytes) · their UTF-16 units (4)
 *     for each record: seq of the run − seq of the record (2) · bytes (4)
 *     the records as UTF-8, joined with commas
 *
 * Numbers are big-endian. The highest bit of the first number says that no record contains a line feed.
 *
 * The key of a run holds its seq: at least that of its last record, and below those of all records in later runs. It
 * stays the same when the last record of a run is removed.
 */
const NO_LINE_FEED = 0x8000;
const LINE_FEED = 0x0a;
const COMMA = 0x2c;
const COMMA_BYTES = 1;
const HEAD_BYTES = 6;
const RECORD_HEAD_BYTES = 6;
const DISTANCE_BYTES = 2;

/** The largest value for which LMDB needs one page of its own: the page has a head of 16 bytes. */
export const RUN_BYTES_MAX = 4_096 - 16;
/** A larger record shares its run with no other: each change of a neighbour would write it again. */
export const SHARED_RECORD_BYTES_MAX = 1_024;
/** What the two bytes of a distance can hold. */
const DISTANCE_MAX = 2 ** 16 - 1;

export interface RunRecord {
  readonly seq: number;
  readonly bytes: Uint8Array;
  /** UTF-16 units of the record as text. */
  readonly units: number;
}

interface RunHead {
  readonly count: number;
  /** UTF-16 units of all records, without the commas. */
  readonly units: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Where the first record begins. */
  readonly textStart: number;
  /** True: no record contains a line feed. */
  readonly isOneLine: boolean;
}

export function readRunHead(value: BorrowedBytes, runSeq: number): RunHead {
  const first = readUint16(value, 0);
  const count = first & ~NO_LINE_FEED;
  const textStart = HEAD_BYTES + count * RECORD_HEAD_BYTES;
  return {
    count,
    units: readUint32(value, 2),
    firstSeq: runSeq - readUint16(value, HEAD_BYTES),
    lastSeq: runSeq - readUint16(value, textStart - RECORD_HEAD_BYTES),
    textStart,
    isOneLine: first !== count,
  };
}

/** Decodes all records into memory of their own. */
export function decodeRun(value: BorrowedBytes, runSeq: number): RunRecord[] {
  const copy = copyOf(value);
  const { count, units, textStart } = readRunHead(copy, runSeq);
  const isAscii = copy.length - textStart - (count - 1) * COMMA_BYTES === units;
  const records: RunRecord[] = [];
  visitRecords(copy, runSeq, (seq, start, end) => {
    const bytes = copy.subarray(start, end);
    records.push({ seq, bytes, units: isAscii ? bytes.length : bytes.toString().length });
  });
  return records;
}

/** Returns one record as text, or null when the run does not hold it. */
export function recordInRun(value: BorrowedBytes, runSeq: number, seq: number): string | null {
  let record: string | null = null;
  visitRecords(value, runSeq, (found, start, end) => {
    if (found === seq) record = textOf(value, start, end);
  });
  return record;
}

/** Counts the records of a run with such seqs. */
export function countInRun(value: BorrowedBytes, runSeq: number, isCounted: (seq: number) => boolean): number {
  let count = 0;
  visitRecords(value, runSeq, (seq) => {
    if (isCounted(seq)) count++;
  });
  return count;
}

/** Throws when the lengths in the run do not add up to its size. */
function visitRecords(
  value: BorrowedBytes,
  runSeq: number,
  visit: (seq: number, start: number, end: number) => void,
): void {
  const { count, textStart } = readRunHead(value, runSeq);
  let start = textStart;
  for (let head = HEAD_BYTES; head < textStart; head += RECORD_HEAD_BYTES) {
    const end = start + readUint32(value, head + DISTANCE_BYTES);
    visit(runSeq - readUint16(value, head), start, end);
    start = end + COMMA_BYTES;
  }
  if (count === 0 || start - COMMA_BYTES !== value.length) {
    throw new Error(`the run at seq ${runSeq} is damaged; run verify`);
  }
}

export function encodeRun(records: readonly RunRecord[], runSeq: number): Buffer {
  const textStart = HEAD_BYTES + records.length * RECORD_HEAD_BYTES;
  let size = textStart - COMMA_BYTES;
  let units = 0;
  for (const record of records) {
    size += record.bytes.length + COMMA_BYTES;
    units += record.units;
  }
  const value = Buffer.allocUnsafe(size);
  value.writeUInt32BE(units, 2);
  let head = HEAD_BYTES;
  let at = textStart;
  for (const { seq, bytes } of records) {
    value.writeUInt16BE(runSeq - seq, head);
    value.writeUInt32BE(bytes.length, head + DISTANCE_BYTES);
    head += RECORD_HEAD_BYTES;
    value.set(bytes, at);
    at += bytes.length;
    if (at < size) value[at++] = COMMA;
  }
  value.writeUInt16BE(records.length | (value.includes(LINE_FEED, textStart) ? 0 : NO_LINE_FEED), 0);
  return value;
}

/** Collects records until a run is full. */
export class RunBuilder {
  readonly records: RunRecord[] = [];
  #bytes = HEAD_BYTES;

  constructor(records: readonly RunRecord[] = []) {
    for (const record of records) this.add(record);
  }

  /** An empty run has room for any record. */
  hasRoomFor({ seq, bytes }: RunRecord): boolean {
    const [first] = this.records;
    if (first === undefined) return true;
    const isShared = Math.max(bytes.length, first.bytes.length) <= SHARED_RECORD_BYTES_MAX;
    const size = this.#bytes + RECORD_HEAD_BYTES + bytes.length;
    return isShared && size <= RUN_BYTES_MAX && seq - first.seq <= DISTANCE_MAX;
  }

  add(record: RunRecord): void {
    this.records.push(record);
    this.#bytes += RECORD_HEAD_BYTES + record.bytes.length + COMMA_BYTES;
  }
}

// A borrowed value has no methods, and those of a Buffer take several times as long for so few bytes.

function readUint16(value: BorrowedBytes, at: number): number {
  return ((value[at] ?? 0) << 8) | (value[at + 1] ?? 0);
}

function readUint32(value: BorrowedBytes, at: number): number {
  return readUint16(value, at) * 2 ** 16 + readUint16(value, at + 2);
}
