/** Bytes of an upload that one `append` has written. */
export interface Segment {
  readonly name: string;
  readonly offset: number;
  readonly size: number;
}

/** A part of a segment: `length` bytes from `from`. */
export interface SegmentPart {
  readonly segment: Segment;
  readonly from: number;
  readonly length: number;
}

/**
 * Chooses parts of segments that join into the beginning of a file without a gap, as long as possible. Segments may overlap:
 * an `append` whose caller was given up may have written a little more than the next one knew of.
 */
export function joinSegments(segments: readonly Segment[]): readonly SegmentPart[] {
  const parts: SegmentPart[] = [];
  let end = 0;
  for (;;) {
    const next = longestFrom(segments, end);
    if (next === null) return parts;
    const length = next.offset + next.size - end;
    parts.push({ segment: next, from: end - next.offset, length });
    end += length;
  }
}

/** Returns how many bytes the parts have together. */
export function lengthOf(parts: readonly SegmentPart[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}

/** Returns the segment that begins at or before the position and ends farthest behind it. */
function longestFrom(segments: readonly Segment[], position: number): Segment | null {
  let found: Segment | null = null;
  for (const segment of segments) {
    const end = segment.offset + segment.size;
    if (segment.offset > position || end <= position) continue;
    if (found === null || end > found.offset + found.size) found = segment;
  }
  return found;
}
