/** One line of the table: what was measured, against what, and whether the ratio keeps its bound. */
export interface Row {
  readonly name: string;
  readonly measured: string;
  readonly against: string;
  readonly ratio: number;
  readonly bound: Bound;
}

/** `atMost`: a cost may be so many times another. `atLeast`: a speed must reach this share of another. */
export type Bound = { readonly atMost: number } | { readonly atLeast: number };

export function isKept({ ratio, bound }: Row): boolean {
  return 'atMost' in bound ? ratio <= bound.atMost : ratio >= bound.atLeast;
}
