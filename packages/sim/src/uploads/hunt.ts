import { drawUploadHistory } from './draw-history.ts';
import type { PlantedUploadBug } from './planted-bugs.ts';
import { findUploadFailure, type UploadFailure } from './simulate.ts';

/**
 * Tries histories until one of them shows the planted bug: it breaks the rule that the bug must break, and the server
 * without the bug survives it. Null: not one of them does.
 */
export async function huntUploadBug(
  bug: PlantedUploadBug,
  seeds: Iterable<number>,
): Promise<{ readonly histories: number; readonly failure: UploadFailure } | null> {
  let histories = 0;
  for (const seed of seeds) {
    histories++;
    const history = drawUploadHistory(seed);
    const failure = await findUploadFailure(history, bug);
    if (failure?.rule !== bug.breaks) continue;
    if ((await findUploadFailure(history)) === null) return { histories, failure };
  }
  return null;
}
