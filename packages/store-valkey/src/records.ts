/** What stands before a record: its checksum in seven bytes, its UTF-16 units in four. */
export const RECORD_HEADER_BYTES = 11;
/** What stands before a part of a document: its UTF-16 units in four bytes. */
export const PART_HEADER_BYTES = 4;

const CHECKSUM_HIGH_UNIT = 2 ** 48;

/** Scripts never read a text: what they must know of it stands in front of it. */
export function writeRecord(bytes: Buffer, at: number, record: string, checksum: number): void {
  bytes[at] = Math.floor(checksum / CHECKSUM_HIGH_UNIT);
  bytes.writeUIntBE(checksum % CHECKSUM_HIGH_UNIT, at + 1, 6);
  bytes.writeUInt32BE(record.length, at + 7);
  bytes.write(record, at + RECORD_HEADER_BYTES);
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
