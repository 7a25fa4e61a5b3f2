/** Orders tuples part by part, each part by its UTF-8 bytes; a tuple comes before those it is the beginning of. */
export function compareTuples(left: readonly string[], right: readonly string[]): number {
  for (const [index, part] of left.entries()) {
    const other = right[index];
    if (other === undefined) return 1;
    const order = compareUtf8(part, other);
    if (order !== 0) return order;
  }
  return left.length - right.length;
}

/** The default order of JavaScript compares UTF-16 units and puts characters beyond U+FFFF before U+E000. */
export function compareUtf8(left: string, right: string): number {
  return Buffer.compare(Buffer.from(left), Buffer.from(right));
}

/** Returns a tuple as one text for a `Map`. JSON quotes every part, so different tuples give different texts. */
export function tupleKey(...parts: readonly (string | null)[]): string {
  return JSON.stringify(parts);
}
