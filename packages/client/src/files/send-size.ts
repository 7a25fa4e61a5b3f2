import { FILE_PIECE_BYTES, FILE_SEND_BYTES_FIRST, FILE_SEND_BYTES_MIN, FILE_SEND_PARTS } from '../limits.ts';

/**
 * How many bytes one request carries: a fraction of what has passed since a connection broke. Chromium repeats a request by itself,
 * from its first byte, if its connection breaks before the answer, so a request must be small where connections break often.
 */
export class SendSize {
  #passed = FILE_SEND_BYTES_FIRST * FILE_SEND_PARTS;

  get bytes(): number {
    return Math.min(FILE_PIECE_BYTES, Math.max(FILE_SEND_BYTES_MIN, Math.floor(this.#passed / FILE_SEND_PARTS)));
  }

  notePassed(bytes: number): void {
    this.#passed += bytes;
  }

  noteBroken(): void {
    this.#passed = 0;
  }
}
