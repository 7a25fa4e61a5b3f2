import type { ByteRange } from '@tidemark/files';

/** What a `Range` header asks of a file. */
export type RangeAnswer =
  | { readonly kind: 'whole' }
  | { readonly kind: 'none' }
  | ({ readonly kind: 'part' } & ByteRange);

const WHOLE: RangeAnswer = { kind: 'whole' };
const NONE: RangeAnswer = { kind: 'none' };
const ONE_RANGE = /^bytes=(\d{0,15})-(\d{0,15})$/;

/**
 * Reads a `Range` header. A header that is not understood, and one that asks for several parts, gets the whole file, as
 * RFC 9110 allows; a part behind the end gets none.
 */
export function readRange(header: string | undefined, size: number): RangeAnswer {
  const [, from, to] = ONE_RANGE.exec(header ?? '') ?? [];
  if (from === undefined || to === undefined || (from === '' && to === '')) return WHOLE;
  if (from === '') {
    const length = Math.min(Number(to), size);
    return length === 0 ? NONE : { kind: 'part', first: size - length, last: size - 1 };
  }
  const first = Number(from);
  if (to !== '' && Number(to) < first) return WHOLE;
  if (first >= size) return NONE;
  return { kind: 'part', first, last: to === '' ? size - 1 : Math.min(Number(to), size - 1) };
}
