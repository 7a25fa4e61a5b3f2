interface BehindCountProps {
  /** Null: nothing is known yet. */
  readonly count: number | null;
  /** Why nothing is known, for the hint. */
  readonly unknown: string;
}

/** How many changes somebody misses, or a dash with the reason why that is not known. */
export function BehindCount({ count, unknown }: BehindCountProps) {
  return count === null ? <span title={unknown}>–</span> : count.toLocaleString('en');
}
