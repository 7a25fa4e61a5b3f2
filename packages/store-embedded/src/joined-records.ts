import type { JoinedSlice } from '@tidemark/core/ports';

const COMMA = 0x2c;
const TARGET_BYTES_MIN = 4_096;
/** What is left over of the memory a slice was gathered in is not worth copying it for. */
const LEFT_OVER_SHARE_MAX = 0.25;
/** Neighbouring slices are of about the same size. */
const GUESS_MARGIN = 1.05;

/** The size of the last slice: reading never waits for anything, so this is what the thread read just before. */
let lastBytes = TARGET_BYTES_MIN;

type Lent = Required<Pick<JoinedSlice, 'count' | 'records' | 'isOneLine'>>;

/** Records, or several at once, with commas in between, as they come. */
export class JoinedRecords {
  #target: Buffer;
  #bytes = 0;
  #isOneLine = true;
  count = 0;

  /** In memory that somebody has no other use for; null: in new memory, as much as the slice before took. */
  constructor(memory: Uint8Array | null) {
    this.#target =
      memory === null
        ? Buffer.allocUnsafeSlow(Math.ceil(lastBytes * GUESS_MARGIN))
        : Buffer.from(memory.buffer, memory.byteOffset, memory.length);
  }

  /** Takes so many records, which have commas in between already. `isOneLine`: it is known that no line feed stands in them. */
  add(records: Uint8Array, count: number, isOneLine: boolean): void {
    const comma = this.count === 0 ? 0 : 1;
    this.#makeRoom(comma + records.length);
    if (comma === 1) this.#target[this.#bytes] = COMMA;
    this.#target.set(records, this.#bytes + comma);
    this.#bytes += comma + records.length;
    this.count += count;
    this.#isOneLine &&= isOneLine;
  }

  /** Where they were gathered, with all that is around them. */
  lend(): Lent & { readonly memory: Uint8Array } {
    lastBytes = Math.max(TARGET_BYTES_MIN, this.#bytes);
    const records = this.#target.subarray(0, this.#bytes);
    return { count: this.count, records, isOneLine: this.#isOneLine, memory: this.#target };
  }

  /** For good, so without much around them. */
  take(): Lent {
    const { memory, ...lent } = this.lend();
    if (memory.length - this.#bytes <= memory.length * LEFT_OVER_SHARE_MAX) return lent;
    const exact = Buffer.allocUnsafeSlow(this.#bytes);
    this.#target.copy(exact, 0, 0, this.#bytes);
    return { ...lent, records: exact };
  }

  #makeRoom(bytes: number): void {
    if (this.#bytes + bytes <= this.#target.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#bytes + bytes));
    this.#target.copy(larger, 0, 0, this.#bytes);
    this.#target = larger;
  }
}
