/**
 * Records and parts of documents are stored behind a header, so that scripts need not parse them. The header of a record is
 * its checksum and its length in UTF-16 units, that of a part only its length. Numbers are digits to the base 64, each a
 * character from `0` on.
 */
export const CHECKSUM_DIGITS = 9;
export const UNITS_DIGITS = 5;
export const RECORD_HEADER_BYTES = CHECKSUM_DIGITS + UNITS_DIGITS;

const BASE = 64;
const ZERO = 0x30;

export function headedRecord(record: string, checksum: number): string {
  return digits(checksum, CHECKSUM_DIGITS) + digits(record.length, UNITS_DIGITS) + record;
}

export function headedPart(text: string): string {
  return digits(text.length, UNITS_DIGITS) + text;
}

/** Returns the text of a part, without its header. */
export function textOfPart(bytes: Buffer): string {
  return bytes.toString('utf8', UNITS_DIGITS);
}

export function checksumAt(bytes: Buffer, at: number): number {
  return numberAt(bytes, at, CHECKSUM_DIGITS);
}

/** The length in UTF-16 units of the record whose header begins at `at`. */
export function unitsAt(bytes: Buffer, at: number): number {
  return numberAt(bytes, at + CHECKSUM_DIGITS, UNITS_DIGITS);
}

function numberAt(bytes: Buffer, at: number, count: number): number {
  let value = 0;
  for (let index = at; index < at + count; index++) value = value * BASE + ((bytes[index] ?? ZERO) - ZERO);
  return value;
}

function digits(value: number, count: number): string {
  let text = '';
  let rest = value;
  for (let index = 0; index < count; index++) {
    text = String.fromCharCode(ZERO + (rest % BASE)) + text;
    rest = Math.floor(rest / BASE);
  }
  return text;
}
