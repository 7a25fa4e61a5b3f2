import { createHash } from 'node:crypto';

const ID_UNITS = 16;

/** The id a server lists a token under: how the SHA-256 of the token begins. */
export function tokenIdOf(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, ID_UNITS);
}
