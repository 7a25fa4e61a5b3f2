import type { JournalRange } from '@tidemark/core/ports';
import { RECORD_HEADER_BYTES, unitsAt } from './records.ts';
import { bytesOf, type Reply } from './wire.ts';

/** Records of the first chunk, which may be large. */
const CHUNK_FIRST = 16;
/** Each chunk may be this much larger than the one before, as far as the slice has room for it. */
const CHUNK_GROWTH = 4;
/** The server runs nothing else while it reads a chunk. */
const CHUNK_MAX = 1_000;

const COMMA = 0x2c;

/** The records of a slice that consists of whole chunks so far. */
export class JoinedRecords {
  readonly #range: JournalRange;
  readonly #records: Buffer[] = [];
  #chunk = CHUNK_FIRST;
  units = 0;

  constructor(range: JournalRange) {
    this.#range = range;
  }

  get count(): number {
    return this.#records.length;
  }

  /** How many records to read next. 0: there is hardly room for more. */
  get nextCount(): number {
    const { entriesMax, unitsMax } = this.#range;
    const meanUnits = this.units / Math.max(1, this.count);
    const room = this.count === 0 ? CHUNK_FIRST : Math.floor((unitsMax - this.units) / meanUnits);
    const next = Math.min(this.#chunk, room, entriesMax - this.count);
    return next < CHUNK_FIRST && this.count > 0 ? 0 : next;
  }

  /** Adds a chunk. Returns false, and adds nothing, when the slice has no room for all of it. */
  add(chunk: readonly Reply[]): boolean {
    const records = chunk.map(bytesOf);
    const units = records.reduce((sum, record) => sum + unitsAt(record, 0), 0);
    if (this.units + units > this.#range.unitsMax) return false;
    for (const record of records) this.#records.push(record);
    this.units += units;
    this.#chunk = Math.min(this.#chunk * CHUNK_GROWTH, CHUNK_MAX);
    return true;
  }

  /** All texts and, behind them, `rest`, with commas in between, in memory of their own. */
  joinedWith(rest: readonly string[]): Uint8Array {
    const tail = Buffer.from(rest.join(','));
    const bytes = this.#records.reduce((sum, { length }) => sum + length - RECORD_HEADER_BYTES + 1, tail.length);
    const target = Buffer.allocUnsafeSlow(bytes);
    let at = 0;
    for (const record of this.#records) {
      at += record.copy(target, at, RECORD_HEADER_BYTES);
      target[at++] = COMMA;
    }
    at += tail.copy(target, at);
    return target.subarray(0, rest.length === 0 && at > 0 ? at - 1 : at);
  }
}
