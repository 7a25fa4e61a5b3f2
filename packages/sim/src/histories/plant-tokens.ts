import { readToken, tokenText } from '@tidemark/core';

/** Returns the token with another base, if it has one. */
export function rebased(text: string | null, base: (token: { seq: number; base: number }) => number): string | null {
  const token = text === null ? null : readToken(text);
  if (token === null || token.baseline.kind !== 'base') return text;
  const seq = base({ seq: token.seq, base: token.baseline.seq });
  return tokenText({ ...token, baseline: { kind: 'base', seq } }, token.restarts);
}

/** Returns the token of a device that starts over, as if that had begun at the floor or later. */
export function startedAt(text: string | null, floor: number): string | null {
  const token = text === null ? null : readToken(text);
  if (token === null || token.baseline.kind !== 'start') return text;
  const seq = Math.max(floor, token.baseline.seq);
  const head = token.head === undefined ? {} : { head: Math.max(seq, token.head) };
  return tokenText({ ...token, baseline: { kind: 'start', seq }, ...head }, token.restarts);
}

/** Returns the token of a catch-up as if it had been read when the journal ended right behind it. */
export function readWhereItEnds(text: string | null): string | null {
  const token = text === null ? null : readToken(text);
  if (token?.head === undefined) return text;
  return tokenText({ ...token, head: Math.max(token.seq + 1, token.baseline.seq) }, token.restarts);
}
