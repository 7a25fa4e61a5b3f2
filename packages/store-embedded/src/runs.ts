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

/** The largest values that take three pages of the file and one: the first has 16 bytes of its own. */
export const LONG_RUN_BYTES_MAX = 3 * 4_096 - 16;
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
 * A run from which records go. What stays is copied as it stands, in as few stretches as possible: to take the others
 * apart, only to put them together again, would take several times as long.
 */
export class ThinnedRun {
  readonly #value: Buffer;
  readonly #end: number;
  readonly #head: RunHead;
  /** Where each record begins, and where another one would. */
  readonly #starts: number[];
  readonly #seqs: number[] = [];

  /** `end` is the seq under which it stands. One that is damaged makes it throw. */
  constructor(value: Buffer, end: number) {
    this.#value = value;
    this.#end = end;
    this.#head = runHead(value, end);
    const { count, textStart } = this.#head;
    this.#starts = [textStart];
    let at = textStart;
    for (let index = 0; index < count; index++) {
      const { seq, bytes } = recordInRun(value, end, index);
      at += bytes + COMMA_BYTES;
      this.#starts.push(at);
      this.#seqs.push(seq);
    }
    requireWhole(count, at, value.length, end);
  }

  get seqs(): readonly number[] {
    return this.#seqs;
  }

  /**
   * What is left: runs, and the seqs under which they stand. Of a long one, the page or so around each record that goes is
   * kept apart from then on, since neighbours often go one after the other; the rest stays together. The last one stands
   * where the run stood, so that nothing behind it is touched.
   */
  without(leaving: ReadonlySet<number>): readonly { readonly end: number; readonly value: Buffer }[] {
    const pieces: number[][] = [[]];
    for (const page of this.#pages()) {
      const staying = page.filter((index) => !leaving.has(this.#seqAt(index)));
      if (staying.length === page.length) pieces.at(-1)?.push(...page);
      else pieces.push(staying, []);
    }
    const left = pieces.filter(({ length }) => length > 0);
    return left.map((piece, at) => {
      const end = at === left.length - 1 ? this.#end : this.#seqAt(piece.at(-1) ?? 0);
      return { end, value: this.#bytesOf(piece, end) };
    });
  }

  /** The places of the records, cut into as much as fits on a page of the file. */
  #pages(): readonly (readonly number[])[] {
    const pages: number[][] = [];
    let room = 0;
    for (let index = 0; index < this.#seqs.length; index++) {
      const bytes = RECORD_HEAD_BYTES + this.#lengthAt(index);
      if (bytes > room) {
        pages.push([]);
        room = SHORT_RUN_BYTES_MAX - HEAD_BYTES;
      }
      pages.at(-1)?.push(index);
      room -= bytes + COMMA_BYTES;
    }
    return pages;
  }

  /** A run of the records at some places. */
  #bytesOf(places: readonly number[], end: number): Buffer {
    const textStart = HEAD_BYTES + places.length * RECORD_HEAD_BYTES;
    let size = textStart - COMMA_BYTES;
    for (const place of places) size += this.#lengthAt(place) + COMMA_BYTES;
    const value = Buffer.allocUnsafe(size);
    let at = textStart;
    let from = 0;
    for (const [index, place] of places.entries()) {
      const head = HEAD_BYTES + index * RECORD_HEAD_BYTES;
      putNumber(value, head, end - this.#seqAt(place));
      putNumber(value, head + 2, this.#lengthAt(place));
      if (places[index + 1] === place + 1) continue;
      // The end of a stretch, with the comma behind it unless it is the last one.
      const [first, behind] = [this.#startAt(places[from] ?? 0), this.#startAt(place + 1)];
      at += this.#value.copy(value, at, first, behind - COMMA_BYTES);
      if (at < size) value[at++] = COMMA;
      from = index + 1;
    }
    const commas = (places.length - 1) * COMMA_BYTES;
    const chars = this.#head.isAscii ? size - textStart : value.toString('utf8', textStart).length;
    putNumber(value, 2, chars - commas);
    putCount(value, places.length, this.#head.isOneLine || !value.includes(LINE_FEED, textStart));
    return value;
  }

  #seqAt(index: number): number {
    return this.#seqs[index] ?? 0;
  }

  #startAt(index: number): number {
    return this.#starts[index] ?? 0;
  }

  #lengthAt(index: number): number {
    return this.#startAt(index + 1) - this.#startAt(index) - COMMA_BYTES;
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
