/**
 * Whether a text matches a pattern in which `*` stands for any characters, none included; everything else stands for
 * itself. The leftmost place for each piece between two stars is as good as any other, so there is no going back and
 * the time is bounded by the length of the text, whatever the pattern.
 */
export function matchesGlob(pattern: string, text: string): boolean {
  const [head = '', ...rest] = pattern.split('*');
  const tail = rest.pop();
  if (tail === undefined) return text === head;
  if (text.length < head.length + tail.length || !text.startsWith(head) || !text.endsWith(tail)) return false;
  const end = text.length - tail.length;
  let from = head.length;
  for (const piece of rest) {
    const at = text.indexOf(piece, from);
    if (at === -1 || at + piece.length > end) return false;
    from = at + piece.length;
  }
  return true;
}
