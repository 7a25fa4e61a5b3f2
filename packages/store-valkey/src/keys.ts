import type { DocumentScope, PartitionKey } from '@tidemark/core/ports';

/**
 * Members of sorted sets and fields of hashes are tuples of texts, each ended by a zero byte, which no name contains. So
 * tuples sort component by component in the order of their UTF-8 bytes, a prefix of a tuple is a prefix of its text, and
 * no two tuples meet.
 */
export function keyOf(...parts: readonly string[]): string {
  for (const part of parts) requireName(part);
  return parts.length === 0 ? '' : `${parts.join(END)}${END}`;
}

const END = '\0';
const BEHIND_END = '\u0001';

/** Half a surrogate pair would become U+FFFD on its way, and a zero byte would end a name early: names would meet. */
export function requireName(name: string): void {
  if (!name.isWellFormed() || name.includes(END)) throw new Error('a name must be well-formed and without zero bytes');
}

/** The texts of a tuple, and what follows them. */
export function textsOf(key: string): string[] {
  return key.split(END).slice(0, -1);
}

/** A number in a tuple: as many digits as any moment in milliseconds has, so that numbers sort like texts. */
export function digitsOf(value: number): string {
  if (!Number.isInteger(value) || value < 0 || value >= 10 ** DIGITS) throw new RangeError(`${value} is no key number`);
  return String(value).padStart(DIGITS, '0');
}

export const DIGITS = 15;

/** The ends of the range of all members that begin with a tuple, as ZRANGEBYLEX takes them. */
export function membersFrom(prefix: string): { readonly min: string; readonly max: string } {
  return { min: inclusive(prefix), max: prefix === '' ? '+' : exclusive(prefix.slice(0, -1) + BEHIND_END) };
}

export function inclusive(member: string): string {
  return `[${member}`;
}

export function exclusive(member: string): string {
  return `(${member}`;
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
export function placeMember(place: Place): string {
  return keyOf(...placeParts(place));
}

export function sourceMember(place: Place): string | null {
  return place.kind === 'server' ? null : keyOf(place.source, ...placeParts(place));
}

/** Names a place at which a client has left something. */
export function clientMember(client: string, place: Place): string {
  return keyOf(client, ...placeParts(place));
}
