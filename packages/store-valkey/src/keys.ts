import { type DocumentScope, type EntryRef, scopeParts } from '@tidemark/core/ports';

/**
 * Encodes a tuple of texts as a member of a sorted set or a field of a hash. Each text ends with a zero byte, which no
 * name contains. So tuples sort component by component in the order of their UTF-8 bytes, the encoding of a prefix of a
 * tuple is a prefix of its encoding, and different tuples have different encodings.
 */
export function keyOf(...parts: readonly string[]): string {
  for (const part of parts) requireName(part);
  return parts.length === 0 ? '' : `${parts.join(END)}${END}`;
}

const END = '\0';
const AFTER_END = '\u0001';

/** Half a surrogate pair would be sent as U+FFFD and a zero byte would end a name early: two names would become one. */
export function requireName(name: string): void {
  if (name.isWellFormed() && !name.includes(END)) return;
  throw new Error(`the name ${JSON.stringify(name)} is not well-formed Unicode without zero characters`);
}

/** Decodes a tuple. What follows its last zero byte is dropped. */
export function textsOf(key: string): string[] {
  return key.split(END).slice(0, -1);
}

/** Encodes a number so that encodings sort like the numbers. Any time in milliseconds fits. */
export function digitsOf(value: number): string {
  if (!Number.isInteger(value) || value < 0 || value >= 10 ** DIGITS) {
    throw new RangeError(`${value} cannot be part of a key`);
  }
  return String(value).padStart(DIGITS, '0');
}

export const DIGITS = 15;

/** The range of all members that begin with a tuple, as ZRANGEBYLEX takes it. */
export function membersFrom(prefix: string): { readonly min: string; readonly max: string } {
  return { min: inclusive(prefix), max: prefix === '' ? '+' : exclusive(prefix.slice(0, -1) + AFTER_END) };
}

export function inclusive(member: string): string {
  return `[${member}`;
}

export function exclusive(member: string): string {
  return `(${member}`;
}

/**
 * The unit that shares a hash tag: everything of the server, of a source (`shared`), or of a user, a group or a
 * client at a source. One script can change all of it in one step.
 */
export type Scope = DocumentScope;

// Members of the registry's indexes of scopes: all of them by owner, those of a source, those a client has data in.

export function scopeMember(scope: Scope): string {
  return keyOf(...scopeParts(scope));
}

/** Null: the scope of the server belongs to no source. */
export function sourceMember(scope: Scope): string | null {
  return scope.kind === 'server' ? null : keyOf(scope.source, ...scopeParts(scope));
}

export function clientMember(client: string, scope: Scope): string {
  return keyOf(client, ...scopeParts(scope));
}

// Members of TIDEMARKS: the encoded client and the text of a tidemark.

/** Sorts after every character with which the text of a tidemark begins. */
export const AFTER_DIGITS = '\u007f';

/** The range that contains the one member of a client. */
export function tidemarkRange(client: string): { readonly min: string; readonly max: string } {
  const prefix = keyOf(client);
  return { min: inclusive(prefix), max: exclusive(prefix + AFTER_DIGITS) };
}

// Members of ACKNOWLEDGED: the epoch, the digits of the acknowledged seq to the base 36, and the client.

/** Digits of any seq to the base 36. */
export const SEQ_DIGITS = 11;

/** All members of an epoch begin with this; with `seq`, those that acknowledge it. */
export function acknowledgedPrefix(epoch: string, seq?: number): string {
  return keyOf(epoch) + (seq === undefined ? '' : seq.toString(36).padStart(SEQ_DIGITS, '0'));
}

// Fields of the registry's hashes.

export function entryField({ kind, key }: EntryRef): string {
  return keyOf(kind, ...key);
}

/** The erasure that a reset begins. */
export const EVERYTHING = keyOf('everything');

export function erasureOf(kind: 'user' | 'client' | 'source', name: string): string {
  return keyOf(kind, name);
}

/** The erasures that delete a scope, and those that delete the tidemarks and notes of a client in it. */
export function erasuresCovering(scope: Scope, client: string | null = null): string[] {
  return [
    EVERYTHING,
    ...(scope.kind === 'user' ? [erasureOf('user', scope.user)] : []),
    ...(scope.kind === 'client' ? [erasureOf('client', scope.client)] : []),
    ...(scope.kind === 'server' ? [] : [erasureOf('source', scope.source)]),
    ...(client === null ? [] : [erasureOf('client', client)]),
  ];
}
