import type { Random } from '../ports/random.ts';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const BASE = BigInt(DIGITS.length);

/** Encodes bytes as letters and digits, which need no escaping in shells, URLs and headers. */
export function base62(bytes: Uint8Array, width: number): string {
  const value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n);
  return base62Number(value, width);
}

/** Returns the last `width` digits of a number. */
function base62Number(value: bigint, width: number): string {
  let text = '';
  let rest = value;
  for (let place = 0; place < width; place++) {
    text = DIGITS.charAt(Number(rest % BASE)) + text;
    rest /= BASE;
  }
  return text;
}

/** The same for a safe integer, which is much faster. */
export function base62Integer(value: number, width: number): string {
  let text = '';
  let rest = value;
  for (let place = 0; place < width; place++) {
    text = DIGITS.charAt(rest % DIGITS.length) + text;
    rest = Math.floor(rest / DIGITS.length);
  }
  return text;
}

export function isBase62(text: string): boolean {
  return /^[0-9A-Za-z]*$/.test(text);
}

const WORD_BYTES = 16;
const WORD_DIGITS = 22;

/** Returns 128 random bits as 22 letters and digits: a unique id that cannot be guessed. */
export function randomId(random: Random): string {
  return base62(random.bytes(WORD_BYTES), WORD_DIGITS);
}
