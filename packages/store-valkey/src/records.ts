/** What stands before a record: its checksum in seven bytes, its UTF-16 units in four. */
export const RECORD_HEADER_BYTES = 11;
/** What stands before a part of a document: its UTF-16 units in four bytes. */
export const PART_HEADER_BYTES = 4;

const CHECKSUM_HIGH_UNIT = 2 ** 48;

/** Scripts never read a text: what they must know of it stands in front of it. */
export function recordBytes(record: string, checksum: number): Buffer {
  const bytes = Buffer.allocUnsafe(RECORD_HEADER_BYTES + Buffer.byteLength(record));
  bytes[0] = Math.floor(checksum / CHECKSUM_HIGH_UNIT);
  bytes.writeUIntBE(checksum % CHECKSUM_HIGH_UNIT, 1, 6);
  bytes.writeUInt32BE(record.length, 7);
  bytes.write(record, RECORD_HEADER_BYTES);
  return bytes;
}

export function checksumAt(bytes: Buffer, at: number): number {
  return (bytes[at] ?? 0) * CHECKSUM_HIGH_UNIT + bytes.readUIntBE(at + 1, 6);
}

export function partBytes(text: string): Buffer {
  const bytes = Buffer.allocUnsafe(PART_HEADER_BYTES + Buffer.byteLength(text));
  bytes.writeUInt32BE(text.length, 0);
  bytes.write(text, PART_HEADER_BYTES);
  return bytes;
}
