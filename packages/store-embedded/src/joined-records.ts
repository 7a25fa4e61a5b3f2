import type { JoinedSlice } from '@tidemark/core/ports';

const COMMA = 0x2c;
const TARGET_BYTES_MIN = 4_096;
/** What is left over of the memory a slice was gathered in is not worth copying it for. */
const LEFT_OVER_SHARE_MAX = 0.25;
/** Neighbouring slices are of about the same size. */
const GUESS_MARGIN = 1.05;

/** The size of the last slice: reading never waits for anything, so this is what the thread read just before. */
let lastBytes = TARGET_BYTES_MIN;

/**
 * Copies records, one or several at a time, into memory of its own and puts commas between them. No other slice ever
 * shares this memory, because a page is sent from it while the next ones are read.
 */
export class JoinedRecords {
  /** As much as the slice before took. */
  #target = Buffer.allocUnsafeSlow(Math.ceil(lastBytes * GUESS_MARGIN));
  #bytes = 0;
  #isOneLine = true;
  count = 0;

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

  /** Returns what was added. It is copied once more when too much of the memory around it is unused. */
  take(): Required<Pick<JoinedSlice, 'count' | 'records' | 'isOneLine'>> {
    lastBytes = Math.max(TARGET_BYTES_MIN, this.#bytes);
    const leftOver = this.#target.length - this.#bytes;
    const records =
      leftOver <= this.#target.length * LEFT_OVER_SHARE_MAX ? this.#target.subarray(0, this.#bytes) : this.#exact();
    return { count: this.count, records, isOneLine: this.#isOneLine };
  }

  #exact(): Buffer {
    const exact = Buffer.allocUnsafeSlow(this.#bytes);
    this.#target.copy(exact, 0, 0, this.#bytes);
    return exact;
  }

  #makeRoom(bytes: number): void {
    if (this.#bytes + bytes <= this.#target.length) return;
    const larger = Buffer.allocUnsafeSlow(2 * (this.#bytes + bytes));
    this.#target.copy(larger, 0, 0, this.#bytes);
    this.#target = larger;
  }
}
