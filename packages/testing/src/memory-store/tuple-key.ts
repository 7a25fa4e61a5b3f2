/** A tuple as one text for a `Map`. JSON quotes every part, so different tuples never become the same text. */
export function tupleKey(...parts: readonly (string | null)[]): string {
  return JSON.stringify(parts);
}
