/** One line of the table: what was measured, against what, and whether the ratio keeps its bound. */
export interface Row {
  readonly name: string;
  readonly measured: string;
  readonly against: string;
  readonly ratio: number;
  readonly bound: Bound;
  /** Why the bound is known to be missed, and what it would take. The row is then printed as missed and fails nothing. */
  readonly knownMiss?: string;
  /** What was measured at each size, if the ratio is an exponent that was fitted to it. */
  readonly curve?: Curve;
}

/** `atMost`: a cost may be so many times another. `atLeast`: a speed must reach this share of another. */
export type Bound = { readonly atMost: number } | { readonly atLeast: number };

export interface Curve {
  readonly unit: string;
  readonly points: readonly CurvePoint[];
}

export interface CurvePoint {
  readonly objects: number;
  readonly value: number;
}

export type Verdict = 'kept' | 'missed' | 'BROKEN';

export function verdictOf({ ratio, bound, knownMiss }: Row): Verdict {
  const isKept = 'atMost' in bound ? ratio <= bound.atMost : ratio >= bound.atLeast;
  if (isKept) return 'kept';
  return knownMiss === undefined ? 'BROKEN' : 'missed';
}

export function boundText({ bound }: Row): string {
  return 'atMost' in bound ? `≤ ${bound.atMost}` : `≥ ${bound.atLeast}`;
}
