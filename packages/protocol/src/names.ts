/** What a name is for decides how long it may be. */
export type NameKind = 'login' | 'source' | 'partition' | 'document' | 'client' | 'object' | 'attribute';

export const NAME_BYTES_MAX: Readonly<Record<NameKind, number>> = {
  login: 255,
  source: 255,
  partition: 255,
  document: 255,
  client: 255,
  object: 512,
  attribute: 512,
};

/** Never names, whatever they are for: one reads as "all of them", the other is a trap in JavaScript. */
const NEVER_NAMES: ReadonlySet<string> = new Set(['*', '__proto__']);

/** Would read as the owner of shared data. */
const NEVER_LOGINS: ReadonlySet<string> = new Set(['__shared__']);

/** Clients and proxies resolve these parts of a path before they send it, so what has such a name is out of reach. */
const NEVER_IN_PATHS: ReadonlySet<string> = new Set(['.', '..']);
const KINDS_IN_PATHS: ReadonlySet<NameKind> = new Set(['login', 'source', 'document', 'client']);

/** What is wrong with a name, in words that complete "the name …", or null when nothing is. */
export function nameProblem(kind: NameKind, name: string): string | null {
  if (name.length === 0) return 'is empty';
  const bytesMax = NAME_BYTES_MAX[kind];
  // A UTF-16 unit is at most three bytes, so most names need no exact count.
  if (name.length > bytesMax || (name.length * 3 > bytesMax && utf8Bytes(name) > bytesMax)) {
    return `is longer than ${bytesMax} bytes`;
  }
  if (NEVER_NAMES.has(name) || (kind === 'login' && NEVER_LOGINS.has(name))) return 'is reserved';
  if (NEVER_IN_PATHS.has(name) && KINDS_IN_PATHS.has(kind)) return 'cannot stand in a URL';
  return characterProblem(name);
}

/** What no text that becomes part of a key may contain, in words that complete "the name …"; null: it is fine. */
export function characterProblem(name: string): string | null {
  let hasSurrogates = false;
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) return 'contains a control character';
    if (unit >= 0xd800 && unit < 0xe000) hasSurrogates = true;
  }
  return hasSurrogates && HALF_A_CHARACTER.test(name) ? 'is not well-formed Unicode' : null;
}

/** With the flag u a pair is one character, so this finds only halves. Devices may not have `isWellFormed` yet. */
const HALF_A_CHARACTER = /[\ud800-\udfff]/u;

/** The length of a well-formed text in UTF-8. */
export function utf8Bytes(text: string): number {
  let bytes = text.length;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80) continue;
    // A surrogate pair is two units and four bytes: one extra byte per unit.
    bytes += unit < 0x800 || (unit >= 0xd800 && unit < 0xe000) ? 1 : 2;
  }
  return bytes;
}
