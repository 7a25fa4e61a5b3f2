import { textChecksum } from '@tidemark/protocol';
import type { Random } from '../ports/random.ts';
import { base62, base62Integer, isBase62 } from '../primitives/base62.ts';
import { sha256 } from '../primitives/sha256.ts';

/** Recognisable to people and to scanners that look for leaked secrets. */
const PREFIX = 'tmk_';
const SECRET_BYTES = 32;
const SECRET_DIGITS = 43;
const CHECKSUM_DIGITS = 6;
const TOKEN_UNITS = PREFIX.length + SECRET_DIGITS + CHECKSUM_DIGITS;
const ID_UNITS = 16;

/** A new token: prefix, 256 random bits, checksum. */
export function newTokenText(random: Random): string {
  const secret = PREFIX + base62(random.bytes(SECRET_BYTES), SECRET_DIGITS);
  return secret + checksumOf(secret);
}

/** Whether the text has the form and checksum of a token. Typing errors are detected without a look-up. */
export function isTokenText(text: string): boolean {
  if (text.length !== TOKEN_UNITS || !text.startsWith(PREFIX)) return false;
  const secret = text.slice(0, -CHECKSUM_DIGITS);
  return isBase62(text.slice(PREFIX.length)) && text.endsWith(checksumOf(secret));
}

/** The hash that is stored instead of the token. 256 random bits cannot be guessed, so a fast hash is enough. */
export function tokenHash(text: string): string {
  return sha256(text, 'hex');
}

/** The id of a token: the beginning of its hash, which reveals nothing about the token. */
export function tokenId(hash: string): string {
  return hash.slice(0, ID_UNITS);
}

export function isTokenId(text: string): boolean {
  return text.length === ID_UNITS && /^[0-9a-f]+$/.test(text);
}

function checksumOf(secret: string): string {
  return base62Integer(textChecksum(secret), CHECKSUM_DIGITS);
}
