/** Reads the values of a message one after the other. A message that ends too early or too late is refused. */
export class ByteReader {
  readonly #bytes: Buffer;
  readonly #what: string;
  #at = 0;

  constructor(bytes: Uint8Array, what: string) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#what = what;
  }

  uint8(): number {
    return this.#bytes.readUInt8(this.#advance(1));
  }

  uint16(): number {
    return this.#bytes.readUInt16BE(this.#advance(2));
  }

  uint32(): number {
    return this.#bytes.readUInt32BE(this.#advance(4));
  }

  int32(): number {
    return this.#bytes.readInt32BE(this.#advance(4));
  }

  uint64(): bigint {
    return this.#bytes.readBigUInt64BE(this.#advance(8));
  }

  int64(): bigint {
    return this.#bytes.readBigInt64BE(this.#advance(8));
  }

  /** One character of ASCII. */
  letter(): string {
    return String.fromCharCode(this.uint8());
  }

  /** A text that ends with a zero byte. */
  terminatedText(): string {
    const end = this.#bytes.indexOf(0, this.#at);
    if (end === -1) throw new Error(`${this.#what} ends at byte ${this.#bytes.length}, inside of a text`);
    const text = this.#bytes.toString('utf8', this.#at, end);
    this.#at = end + 1;
    return text;
  }

  text(length: number): string {
    const start = this.#advance(length);
    return this.#bytes.toString('utf8', start, start + length);
  }

  bytes(length: number): Uint8Array {
    const start = this.#advance(length);
    return this.#bytes.subarray(start, start + length);
  }

  rest(): Buffer {
    const start = this.#at;
    this.#at = this.#bytes.length;
    return this.#bytes.subarray(start);
  }

  end(): void {
    const more = this.#bytes.length - this.#at;
    if (more > 0) throw new Error(`${this.#what} has ${more} bytes more than it should`);
  }

  #advance(length: number): number {
    const start = this.#at;
    if (length < 0 || start + length > this.#bytes.length) {
      throw new Error(
        `${this.#what} ends at byte ${this.#bytes.length}, where ${length} bytes from byte ${start} on should be`,
      );
    }
    this.#at = start + length;
    return start;
  }
}
