/**
 * Uploads to one partition in rounds, such that each object, and each upload, stands at most once in a round: a round
 * can be applied in one step, and the order per object is kept. Nothing overtakes what it depends on.
 */
export function roundsOf<T extends { readonly opId: string; readonly id: string }>(
  uploads: readonly T[],
): readonly (readonly T[])[] {
  const rounds: T[][] = [];
  const nextRound = new Map<string, number>();
  for (const upload of uploads) {
    const round = nextRound.get(upload.id) ?? 0;
    nextRound.set(upload.id, round + 1);
    const others = rounds[round];
    if (others === undefined) rounds[round] = [upload];
    else others.push(upload);
  }
  return rounds;
}
