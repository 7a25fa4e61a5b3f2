/** A piece of an answer that others may be sent as well. The same object is the same text, for as long as it lives. */
export interface SharedText {
  readonly text: string;
}

/** An answer is its parts one after the other. */
export type TextPart = string | SharedText;

/** A shared text below this size is not worth a place of its own. */
export const SHARED_UNITS_MIN = 4_096;

export function unitsOf(parts: readonly TextPart[]): number {
  return parts.reduce((units, part) => units + (typeof part === 'string' ? part : part.text).length, 0);
}

/** The same text in as few parts as possible: whatever is small is joined to its neighbours. */
export function joinSmall(parts: readonly TextPart[]): readonly TextPart[] {
  const joined: TextPart[] = [];
  let loose = '';
  for (const part of parts) {
    if (typeof part === 'string') loose += part;
    else if (part.text.length < SHARED_UNITS_MIN) loose += part.text;
    else {
      if (loose !== '') joined.push(loose);
      loose = '';
      joined.push(part);
    }
  }
  if (loose !== '') joined.push(loose);
  return joined;
}

const encoded = new WeakMap<SharedText, Buffer>();

/** The bytes of a part; of a shared one they are made once. */
export function bytesOf(part: TextPart): Buffer {
  if (typeof part === 'string') return Buffer.from(part);
  const known = encoded.get(part);
  if (known !== undefined) return known;
  const bytes = Buffer.from(part.text);
  encoded.set(part, bytes);
  return bytes;
}
