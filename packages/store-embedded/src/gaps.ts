import type { FleetingBytes } from './fleeting-bytes.ts';

/**
 * The gaps of a long run: the places of records that have gone from it, counted from nought, in ascending order. To note a
 * gap beside a run writes a few bytes, where to write the run again without the record would write all of it
 * (docs/decisions/0038). Kept as numbers of two bytes, the most significant first.
 */
export type Gaps = readonly number[];

export const NO_GAPS: Gaps = [];

const GAP_BYTES = 2;

/** Of a run with more gaps than this share of its records, what is left is written again. */
const GAPS_SHARE_MAX = 0.25;

export function areFew(gaps: Gaps, records: number): boolean {
  return gaps.length <= records * GAPS_SHARE_MAX;
}

export function readGaps(value: FleetingBytes): Gaps {
  const gaps: number[] = [];
  for (let at = 0; at < value.length; at += GAP_BYTES) gaps.push(((value[at] ?? 0) << 8) | (value[at + 1] ?? 0));
  return gaps;
}

export function gapsBytes(gaps: Gaps): Buffer {
  const bytes = Buffer.allocUnsafe(gaps.length * GAP_BYTES);
  for (const [index, gap] of gaps.entries()) bytes.writeUInt16BE(gap, index * GAP_BYTES);
  return bytes;
}
