import type { Random } from '../ports/random.ts';
import { base62 } from './base62.ts';

const WORD_BYTES = 16;
const WORD_DIGITS = 22;

/** 128 random bits as 22 letters and digits: never the same twice, and not to be guessed. */
export function randomId(random: Random): string {
  return base62(random.bytes(WORD_BYTES), WORD_DIGITS);
}
