import { STEP_ROWS } from '../limits.ts';

/** Resolves in another task of the thread. */
export type Pause = () => Promise<void>;

/**
 * Works on that many rows in steps and pauses between them, so that the thread is free for the app. Stops after a pause when
 * the work is not wanted any more.
 */
export async function inSteps(
  count: number,
  pause: Pause,
  work: (from: number, to: number) => void,
  isWanted: () => boolean = () => true,
): Promise<void> {
  for (let from = 0; from < count; from += STEP_ROWS) {
    if (from > 0) await pause();
    if (!isWanted()) return;
    work(from, Math.min(from + STEP_ROWS, count));
  }
}

/** Sorts in steps: parts first, then pairs of sorted parts, which takes one comparison for each item. */
export async function sortInSteps<T>(
  items: readonly T[],
  pause: Pause,
  compare: (left: T, right: T) => number,
): Promise<readonly T[]> {
  let runs: T[][] = [];
  await inSteps(items.length, pause, (from, to) => runs.push(items.slice(from, to).sort(compare)));
  while (runs.length > 1) {
    const merged: T[][] = [];
    for (let at = 0; at < runs.length; at += 2) {
      await pause();
      merged.push([...(runs[at] ?? []), ...(runs[at + 1] ?? [])].sort(compare));
    }
    runs = merged;
  }
  return runs[0] ?? [];
}
