/** Longer words are not compared, so that the work stays bounded. */
const WORD_UNITS_MAX = 80;
const DISTANCE_MAX = 3;
/** Characters per tolerated mistake. */
const UNITS_PER_MISTAKE = 3;

/** Returns the most similar known word, or null if none is similar. */
export function didYouMean(word: string, known: Iterable<string>): string | null {
  const plain = plainOf(word);
  if (plain.length === 0 || plain.length > WORD_UNITS_MAX) return null;
  let nearest: string | null = null;
  let least = Math.min(DISTANCE_MAX, Math.floor(plain.length / UNITS_PER_MISTAKE)) + 1;
  for (const candidate of known) {
    const distance = editDistance(plain, plainOf(candidate), least);
    if (distance >= least) continue;
    least = distance;
    nearest = candidate;
  }
  return nearest;
}

/** Makes `adminLogin`, `admin-login` and `ADMIN_LOGIN` equal. */
function plainOf(word: string): string {
  return word.replaceAll(/[-_.]/g, '').toLowerCase();
}

/**
 * Restricted Damerau-Levenshtein distance: insertions, deletions, substitutions and swaps of neighbours. Returns
 * `enough` as soon as the distance cannot be smaller.
 */
function editDistance(left: string, right: string, enough: number): number {
  if (Math.abs(left.length - right.length) >= enough) return enough;
  let before: readonly number[] = [];
  let above: readonly number[] = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = nextRow(left, right, row, { above, before });
    if (Math.min(...current) >= enough) return enough;
    before = above;
    above = current;
  }
  return above[right.length] ?? enough;
}

function nextRow(
  left: string,
  right: string,
  row: number,
  { above, before }: { readonly above: readonly number[]; readonly before: readonly number[] },
): readonly number[] {
  const at = (line: readonly number[], column: number): number => line[column] ?? Number.POSITIVE_INFINITY;
  const current = [row];
  for (let column = 1; column <= right.length; column++) {
    const isSame = left[row - 1] === right[column - 1];
    const isSwapped = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
    current[column] = Math.min(
      at(above, column) + 1,
      at(current, column - 1) + 1,
      at(above, column - 1) + (isSame ? 0 : 1),
      isSwapped ? at(before, column - 2) + 1 : Number.POSITIVE_INFINITY,
    );
  }
  return current;
}
