/** The last character of Unicode that may be in a name. */
const LAST = '\u{10fffd}';
/** Between these two there are only surrogates, which are no characters. */
const BEFORE_SURROGATES = 0xd7ff;
const AFTER_SURROGATES = 0xe000;
/** Characters up to this one have none before them that may be in a name. */
const FIRST = 0x21;

/**
 * Returns a name that sorts before all names with this beginning and after almost all others, so that a list read from
 * there begins with them. Null: the list is read from its beginning.
 */
export function justBefore(start: string): string | null {
  const characters = [...start];
  const last = characters.pop()?.codePointAt(0);
  const head = characters.join('');
  if (last === undefined) return null;
  if (last <= FIRST) return head === '' ? null : head;
  const before = last === AFTER_SURROGATES ? BEFORE_SURROGATES : last - 1;
  return `${head}${String.fromCodePoint(before)}${LAST}`;
}
