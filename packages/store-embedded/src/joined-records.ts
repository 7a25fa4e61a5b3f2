import type { JoinedSlice } from '@tidemark/core/ports';

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
export class JoinedRecords {
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
