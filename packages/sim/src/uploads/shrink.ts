import { findUploadFailure, type UploadFailure } from './simulate.ts';
import type { UploadHistory } from './step.ts';

/** Leaves out steps, in ever smaller stretches, as long as what is left breaks the same rule. */
export async function shrinkUploads(
  history: UploadHistory,
  failure: UploadFailure,
  runsMax: number,
): Promise<{ readonly history: UploadHistory; readonly failure: UploadFailure }> {
  let best = { history: { ...history, steps: history.steps.slice(0, failure.stepNumber) }, failure };
  let runs = 0;
  for (let size = Math.ceil(best.history.steps.length / 2); size >= 1; size = Math.floor(size / 2)) {
    for (let at = best.history.steps.length - size; at >= 0 && runs < runsMax; at--) {
      runs++;
      const shorter = { ...best.history, steps: best.history.steps.toSpliced(at, size) };
      const found = await findUploadFailure(shorter);
      if (found?.rule === failure.rule) best = { history: shorter, failure: found };
    }
  }
  return best;
}
