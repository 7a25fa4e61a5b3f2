import { temporaryFolder } from '@tidemark/testing/kit';
import { type ChaosOptions, type ChaosReport, runChaos } from './run-chaos.ts';

/** Short, for tests; `npm run sim -- chaos` runs longer. */
const ROUND_MS = 4_000;
/** Tried when a planted bug does not show at once: which requests a fault hits depends on the speed of the machine. */
export const ROUNDS_MAX = 20;

/** Runs chaos in a folder of its own until there is a problem, or for so many rounds. */
export async function runTestChaos(
  options: Pick<ChaosOptions, 'engine' | 'plant' | 'servers'>,
  rounds: number,
): Promise<ChaosReport> {
  const folder = await temporaryFolder();
  const isEnough = (done: number) => done >= rounds;
  try {
    return await runChaos({ ...options, seed: 1, folder: folder.path, roundMs: ROUND_MS, isEnough });
  } finally {
    await folder.remove();
  }
}
