/**
 * A value in the buffer that LMDB reads into. It is valid until the next read of any table: copy it, or be done with it,
 * before then. The library hands out the same object for every value and only changes its length, so nothing but its
 * bytes may be used. A first sync reads thousands of values; a buffer for each would cost as much as reading them.
 */
export interface BorrowedBytes {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly length: number;
  readonly [index: number]: number;
}

/** A part of the value without a copy: valid only as long as the value itself. */
export function viewOf({ buffer, byteOffset, length }: BorrowedBytes, start = 0, end = length): Uint8Array {
  return new Uint8Array(buffer, byteOffset + start, end - start);
}

export function copyOf(bytes: BorrowedBytes): Buffer {
  return Buffer.from(viewOf(bytes));
}

export function textOf({ buffer, byteOffset, length }: BorrowedBytes, start = 0, end = length): string {
  return Buffer.from(buffer, byteOffset + start, end - start).toString();
}
