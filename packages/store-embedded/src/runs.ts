import { copyOf, type FleetingBytes } from './fleeting-bytes.ts';

/**
 * A run: records that stand one behind the other in the journal, kept as one value. To read, join and send a thousand
 * small records costs many times what their bytes cost, so what is written together, or one after the other, is kept
 * together (docs/decisions/0034). A run stands under a seq that none of its records exceeds, and that is below those
 * of all records behind it.
 *
 * What is written at once makes long runs, which are read fastest. From a long run that has to be written again, the part
 * around the change is kept apart, and one record after the other makes short runs from the beginning: where changes
 * are, a change writes a page.
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

/** The largest values that take four pages of the file and one: the first has 16 bytes of its own. */
export const LONG_RUN_BYTES_MAX = 4 * 4_096 - 16;
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

/** The records of a run, in bytes of their own. One that is damaged makes it throw. */
export function recordsOfRun(value: FleetingBytes, end: number): FoundRecord[] {
  const { count, textStart, isAscii } = runHead(value, end);
  const text = copyOf(value, textStart);
  const records: FoundRecord[] = [];
  let at = 0;
  for (let index = 0; index < count; index++) {
    const { seq, bytes: length } = recordInRun(value, end, index);
    const bytes = text.subarray(at, at + length);
    records.push({ seq, bytes, units: isAscii ? bytes.length : bytes.toString().length });
    at += length + COMMA_BYTES;
  }
  requireWhole(count, at, text.length, end);
  return records;
}

/** One record of a run; null: it is not in there. A run that is damaged makes it throw. */
export function textInRun(value: Buffer, end: number, seq: number): string | null {
  const { count, textStart } = runHead(value, end);
  let at = textStart;
  let found: string | null = null;
  for (let index = 0; index < count; index++) {
    const record = recordInRun(value, end, index);
    if (record.seq === seq) found = value.toString('utf8', at, at + record.bytes);
    at += record.bytes + COMMA_BYTES;
  }
  requireWhole(count, at, value.length, end);
  return found;
}

/** `at`: where another record would begin. */
function requireWhole(count: number, at: number, length: number, end: number): void {
  if (count === 0 || at - COMMA_BYTES !== length) throw new Error(`the run at seq ${end} is damaged; run verify`);
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
 * What is left of a run when some of its records go. Of a long one, the page or so around each of them is kept apart from
 * then on, since neighbours often go one after the other; the rest stays together.
 */
export function piecesWithout(records: readonly RunRecord[], leaving: ReadonlySet<number>): RunRecord[][] {
  const pieces: RunRecord[][] = [[]];
  for (const run of shortRuns(records)) {
    const staying = run.filter(({ seq }) => !leaving.has(seq));
    if (staying.length === run.length) pieces.at(-1)?.push(...run);
    else pieces.push(staying, []);
  }
  return pieces.filter(({ length }) => length > 0);
}

/** In runs that are short. */
function* shortRuns(records: readonly RunRecord[]): Generator<readonly RunRecord[]> {
  let run = new RunBuilder();
  for (const record of records) {
    if (!run.fits(record, SHORT_RUN_BYTES_MAX)) {
      yield run.records;
      run = new RunBuilder();
    }
    run.add(record);
  }
  yield run.records;
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
  const isOneLine = !value.includes(LINE_FEED, textStart);
  putNumber(value, 0, records.length | (isOneLine ? ONE_LINE : 0));
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

function putNumber(value: Buffer, at: number, number: number): void {
  value[at] = number >>> 8;
  value[at + 1] = number;
}
