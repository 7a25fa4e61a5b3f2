import { createHash } from 'node:crypto';

const ID_UNITS = 16;

/** Returns the id under which a server lists a token: the first characters of the token's SHA-256. */
export function tokenIdOf(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, ID_UNITS);
}
