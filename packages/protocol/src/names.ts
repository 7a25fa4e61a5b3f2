/** The kind of a name determines its length limit. */
export type NameKind = 'login' | 'source' | 'partition' | 'group' | 'document' | 'client' | 'object' | 'attribute';

export const NAME_BYTES_MAX: Readonly<Record<NameKind, number>> = {
  login: 255,
  source: 255,
  partition: 255,
  group: 255,
  document: 255,
  client: 255,
  object: 512,
  attribute: 512,
};

/** Reserved for all kinds of names: `*` means "all" in paths, `__proto__` is unsafe as a property name in JavaScript. */
const NEVER_NAMES: ReadonlySet<string> = new Set(['*', '__proto__']);

/** Reserved as the owner of shared data. */
const NEVER_LOGINS: ReadonlySet<string> = new Set(['__shared__']);

/** Begins the names of the sources in which connectors keep what they must know of each row. */
const INTERNAL_SOURCES = 'tidemark.postgres.';

/** Whether nothing of the source is for devices, whoever is a member of its groups. */
export function isInternalSource(name: string): boolean {
  return name.startsWith(INTERNAL_SOURCES);
}

/** HTTP clients and proxies resolve these path segments before they send a request. */
const NEVER_IN_PATHS: ReadonlySet<string> = new Set(['.', '..']);
const KINDS_IN_PATHS: ReadonlySet<NameKind> = new Set(['login', 'source', 'group', 'document', 'client']);

/** Returns what is wrong with a name, as the end of a sentence that begins with "the name"; null: it is valid. */
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

/** Like `nameProblem`, for characters that no part of a key may contain. */
export function characterProblem(name: string): string | null {
  let hasSurrogates = false;
  for (let index = 0; index < name.length; index++) {
    const unit = name.charCodeAt(index);
    if (unit < 0x20 || (unit >= 0x7f && unit < 0xa0)) return 'contains a control character';
    if (unit >= 0xd800 && unit < 0xe000) hasSurrogates = true;
  }
  return hasSurrogates && LONE_SURROGATE.test(name) ? 'is not well-formed Unicode' : null;
}

/** With the flag u, a surrogate pair is one character, so this matches lone surrogates only. Not every device has `isWellFormed`. */
const LONE_SURROGATE = /[\ud800-\udfff]/u;

/** Returns the length of a well-formed text in UTF-8. */
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
