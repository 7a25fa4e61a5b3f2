import type { DocumentScope, PartitionKey } from '@tidemark/core';

/**
 * Members of sorted sets and fields of hashes are tuples. Numbers take six bytes, most significant first; texts are
 * UTF-8, a zero byte inside is followed by 0xFF, and a zero byte ends them. So tuples sort component by component, a
 * prefix of a tuple is a prefix of its bytes, and no two tuples meet, whatever the texts contain.
 */
export type KeyPart = string | number;

export const NUMBER_BYTES = 6;
const NUMBER_MAX = 2 ** 48 - 1;
const END = 0x00;
const ESCAPED_ZERO = 0xff;

export function keyOf(...parts: readonly KeyPart[]): Buffer {
  return Buffer.concat(parts.map((part) => (typeof part === 'number' ? numberKey(part) : textKey(part))));
}

function numberKey(value: number): Buffer {
  if (!Number.isInteger(value) || value < 0 || value > NUMBER_MAX) throw new RangeError(`${value} is no key number`);
  const bytes = Buffer.allocUnsafe(NUMBER_BYTES);
  bytes.writeUIntBE(value, 0, NUMBER_BYTES);
  return bytes;
}

function textKey(text: string): Buffer {
  requireWellFormed(text);
  const bytes = Buffer.from(`${text}\0`, 'utf8');
  if (bytes.indexOf(END) === bytes.length - 1) return bytes;
  const escaped: number[] = [];
  for (const value of bytes.subarray(0, -1)) escaped.push(...(value === END ? [END, ESCAPED_ZERO] : [value]));
  return Buffer.from([...escaped, END]);
}

/** Half a surrogate pair would become U+FFFD on its way, and two names would meet. */
export function requireWellFormed(text: string): void {
  if (!text.isWellFormed()) throw new Error('a name must be well-formed Unicode');
}

/** The texts of a tuple that consists of texts only, from byte `at` on. */
export function textsOf(key: Buffer, at = 0): string[] {
  const texts: string[] = [];
  let start = at;
  for (let index = at; index < key.length; index++) {
    if (key[index] !== END) continue;
    if (key[index + 1] === ESCAPED_ZERO) index++;
    else {
      texts.push(unescaped(key.subarray(start, index)));
      start = index + 1;
    }
  }
  return texts;
}

function unescaped(bytes: Buffer): string {
  if (!bytes.includes(END)) return bytes.toString('utf8');
  return Buffer.from(bytes.filter((value, index) => value !== ESCAPED_ZERO || bytes[index - 1] !== END)).toString();
}

/** The ends of the range of all members that begin with `prefix`, as ZRANGEBYLEX takes them. */
export function membersFrom(prefix: Buffer): { readonly min: Buffer; readonly max: Buffer } {
  return { min: inclusive(prefix), max: behind(prefix) };
}

export function inclusive(member: Buffer): Buffer {
  return Buffer.concat([Buffer.from('['), member]);
}

export function exclusive(member: Buffer): Buffer {
  return Buffer.concat([Buffer.from('('), member]);
}

/** Ends a range before the first member that does not begin with `prefix`. Tuples never consist of 0xFF alone. */
function behind(prefix: Buffer): Buffer {
  for (let index = prefix.length - 1; index >= 0; index--) {
    const value = prefix[index] ?? 0;
    if (value < 0xff) {
      const end = Buffer.from(prefix.subarray(0, index + 1));
      end[index] = value + 1;
      return exclusive(end);
    }
  }
  return Buffer.from('+');
}

/** Where something is kept: what shares a place shares a hash tag, so a script may touch all of it at once. */
export type Place = DocumentScope;

export function placeOf({ source, user }: PartitionKey): Place {
  return user === null ? { kind: 'shared', source } : { kind: 'user', source, user };
}

export function placeParts(place: Place): readonly string[] {
  switch (place.kind) {
    case 'server':
      return ['server'];
    case 'shared':
      return ['shared', place.source];
    case 'user':
      return ['user', place.user, place.source];
    case 'client':
      return ['client', place.client, place.source];
  }
}

export function placeFrom([kind, first = '', second = '']: readonly string[]): Place {
  if (kind === 'shared') return { kind, source: first };
  if (kind === 'user') return { kind, user: first, source: second };
  if (kind === 'client') return { kind, client: first, source: second };
  return { kind: 'server' };
}

export function partitionAt(place: Place): PartitionKey | null {
  if (place.kind === 'shared') return { source: place.source, user: null };
  return place.kind === 'user' ? { source: place.source, user: place.user } : null;
}

/** Members that name a place: by owner, and, unless it belongs to no source, by source. */
export function placeMember(place: Place): Buffer {
  return keyOf(...placeParts(place));
}

export function sourceMember(place: Place): Buffer | null {
  return place.kind === 'server' ? null : keyOf(place.source, ...placeParts(place));
}

/** Names a place at which a client has left something. */
export function clientMember(client: string, place: Place): Buffer {
  return keyOf(client, ...placeParts(place));
}
