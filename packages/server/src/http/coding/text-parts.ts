/** An answer is its parts one after the other: texts, and texts that are at hand as UTF-8. */
export type TextPart = string | Uint8Array;

const shared = new WeakSet<Uint8Array>();

/** Says of bytes that others are sent them as well: the same array is the same text, for as long as it lives. */
export function shareParts(parts: readonly TextPart[]): readonly TextPart[] {
  for (const part of parts) if (typeof part !== 'string') shared.add(part);
  return parts;
}

export function isShared(part: TextPart): boolean {
  return typeof part !== 'string' && shared.has(part);
}

/** Bytes below this size are not worth a place of their own. */
export const SHARED_BYTES_MIN = 4_096;

/** About how long it is. */
export function lengthOf(parts: readonly TextPart[]): number {
  return parts.reduce((length, part) => length + part.length, 0);
}

/** The same text in as few parts as possible: whatever is small is joined to its neighbours. */
export function joinSmall(parts: readonly TextPart[]): readonly TextPart[] {
  const joined: TextPart[] = [];
  let loose = '';
  for (const part of parts) {
    if (typeof part === 'string' || part.length < SHARED_BYTES_MIN) loose += textOf(part);
    else {
      if (loose !== '') joined.push(loose);
      loose = '';
      joined.push(part);
    }
  }
  if (loose !== '') joined.push(loose);
  return joined;
}

export function textOf(part: TextPart): string {
  return typeof part === 'string' ? part : bytesOf(part).toString();
}

/** What is written at once: a small text as it is, which leaves together with what stands before it. */
export type Piece = string | Buffer;

export function pieceOf(part: TextPart): Piece {
  return typeof part === 'string' && part.length < SHARED_BYTES_MIN ? part : bytesOf(part);
}

export function bytesOf(part: TextPart): Buffer {
  return typeof part === 'string' ? Buffer.from(part) : Buffer.from(part.buffer, part.byteOffset, part.length);
}
