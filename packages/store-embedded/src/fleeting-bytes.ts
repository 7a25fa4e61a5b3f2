/**
 * A value where LMDB has put it, good until the next read: whoever reads it is done before. It is one and the same object
 * for all values, which only looks as long as the value is, so it can do nothing but tell its bytes; a copy and a text
 * have all that buffers have. To make a buffer for each of the many values of a first sync would cost as much as to
 * read them.
 */
export interface FleetingBytes {
  readonly buffer: ArrayBufferLike;
  readonly byteOffset: number;
  readonly length: number;
  readonly [index: number]: number;
}

/** As fleeting as they are. */
export function viewOf({ buffer, byteOffset, length }: FleetingBytes, start = 0, end = length): Uint8Array {
  return new Uint8Array(buffer, byteOffset + start, end - start);
}

export function copyOf(bytes: FleetingBytes, start = 0): Buffer {
  return Buffer.from(viewOf(bytes, start));
}

export function textOf({ buffer, byteOffset, length }: FleetingBytes, start = 0, end = length): string {
  return Buffer.from(buffer, byteOffset + start, end - start).toString();
}
