import * as zlib from 'node:zlib';

/**
 * The checksum of gzip (RFC 1952): remainders of polynomials over GF(2) in reversed bit order, so the highest bit of
 * a number is the coefficient of x^0.
 */
const POLYNOMIAL = 0xedb88320;
const ONE = 0x80000000;

type Crc32 = (bytes: Uint8Array) => number;

/** Built into Node.js since 20.15. */
export const crc32: Crc32 = (zlib as { readonly crc32?: Crc32 }).crc32 ?? crc32ByTable;

/** Returns the checksum of two texts in sequence, from the checksums of both and the length of the second. */
export function joinCrc32(first: number, second: number, secondBytes: number): number {
  return (multiply(powerOfX(secondBytes * 8), first) ^ second) >>> 0;
}

function multiply(left: number, right: number): number {
  let product = 0;
  let shifted = right >>> 0;
  for (let bit = ONE; bit !== 0; bit >>>= 1) {
    if ((left & bit) !== 0) product ^= shifted;
    shifted = timesX(shifted);
  }
  return product >>> 0;
}

function timesX(value: number): number {
  return ((value & 1) === 0 ? value >>> 1 : (value >>> 1) ^ POLYNOMIAL) >>> 0;
}

/** x^(2^n) for every bit a length in bits can have. */
const SQUARES: readonly number[] = squares();

function squares(): number[] {
  const list = [timesX(ONE)];
  for (let bit = 1; bit < 53; bit++) {
    const last = list[bit - 1] ?? 0;
    list.push(multiply(last, last));
  }
  return list;
}

function powerOfX(exponent: number): number {
  let power = ONE;
  for (let bit = 0, left = exponent; left > 0; bit++, left = Math.floor(left / 2)) {
    if (left % 2 === 1) power = multiply(SQUARES[bit] ?? 0, power);
  }
  return power >>> 0;
}

let table: Uint32Array | null = null;

export function crc32ByTable(bytes: Uint8Array): number {
  table ??= makeTable();
  let sum = 0xffffffff;
  for (const byte of bytes) sum = (sum >>> 8) ^ (table[(sum ^ byte) & 0xff] ?? 0);
  return ~sum >>> 0;
}

function makeTable(): Uint32Array {
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = byte;
    for (let bit = 0; bit < 8; bit++) value = timesX(value);
    return value;
  });
}
