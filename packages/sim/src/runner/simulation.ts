import { type Rule, Violation } from './violation.ts';

/**
 * A history is data: everything that will be tried, decided in advance from the seed. Where a step depends on what
 * exists when it runs (which answer arrives, which object changes), it carries a number that chooses among whatever
 * there is. So any step can be left out and the rest still means something, which is what shrinking needs.
 */
export interface History<Step extends { readonly kind: string } = { readonly kind: string }> {
  readonly seed: number;
  readonly steps: readonly Step[];
}

/** A kind of simulation: how its histories are drawn and where they run. */
export interface Simulation<H extends History> {
  /** Names the simulation and its engine in failed-seeds.json. */
  readonly name: string;
  /** Returns the same history for the same seed, always. */
  drawHistory(seed: number): H;
  /** Opens runners for histories side by side, each with a server of its own. */
  openRunners(): Promise<readonly Runner<H>[]>;
  /** Returns simpler forms of a step, for shrinking. */
  simplifyStep?(step: H['steps'][number]): readonly H['steps'][number][];
  /** How many histories are tried to shorten one that failed. Absent: more than a thousand. */
  readonly shrinkRunsMax?: number;
}

/** Runs histories, one at a time. */
export interface Runner<H extends History> {
  /** Returns the first failure; null: the history passed. */
  run(history: H): Promise<SimulationFailure | null>;
  close(): Promise<void>;
}

/** A history that failed: which one, at which step, why, and the command that replays it. */
export class SimulationFailure extends Error {
  override readonly name = 'SimulationFailure';
  readonly seed: number;
  /** Counted from 1; one more than there are steps: the final checks failed. */
  readonly stepNumber: number;
  /** Null: an unexpected error instead of a broken rule. */
  readonly rule: Rule | null;

  constructor(history: History, stepNumber: number, replay: string, cause: unknown) {
    const what = history.steps[stepNumber - 1]?.kind ?? 'the end';
    const detail = cause instanceof Violation ? cause.message : cause instanceof Error ? cause.stack : String(cause);
    super(
      `seed ${history.seed}, step ${stepNumber} of ${history.steps.length} (${what}): ${detail}\n  replay: ${replay}`,
      { cause },
    );
    this.seed = history.seed;
    this.stepNumber = stepNumber;
    this.rule = cause instanceof Violation ? cause.rule : null;
  }
}

/** Does the work of one history, which counts its steps in `progress`. Returns the failure; null: it passed. */
export async function failureOf(
  history: History,
  replay: string,
  work: (progress: { step: number }) => Promise<void>,
): Promise<SimulationFailure | null> {
  const progress = { step: 0 };
  try {
    await work(progress);
    return null;
  } catch (error) {
    return new SimulationFailure(history, progress.step, replay, error);
  }
}

export interface Campaign {
  readonly seeds: Iterable<number>;
  /** Asked before each history; true ends the campaign. */
  readonly isSpent?: () => boolean;
  readonly onHistory?: (count: number) => void;
}

export interface CampaignResult {
  readonly histories: number;
  /** The first failure; the campaign ends with it. */
  readonly failure: SimulationFailure | null;
}

/** Runs the histories of many seeds until one fails. */
export async function runCampaign<H extends History>(
  simulation: Simulation<H>,
  { seeds, isSpent, onHistory }: Campaign,
): Promise<CampaignResult> {
  const left = seeds[Symbol.iterator]();
  const result: { histories: number; failure: SimulationFailure | null } = { histories: 0, failure: null };
  const runAll = async (runner: Runner<H>) => {
    while (result.failure === null && isSpent?.() !== true) {
      const next = left.next();
      if (next.done === true) return;
      const failure = await runner.run(simulation.drawHistory(next.value));
      result.failure ??= failure;
      result.histories++;
      onHistory?.(result.histories);
    }
  };
  const runners = await simulation.openRunners();
  await Promise.all(runners.map((runner) => runAll(runner).finally(() => runner.close())));
  return result;
}

export interface BugSearch<H extends History> extends Pick<Simulation<H>, 'drawHistory'> {
  readonly seeds: Iterable<number>;
  /** The rule that the planted bug must break; some histories may show it in another way. */
  readonly breaks: Rule;
  readonly withBug: Runner<H>['run'];
  readonly withoutBug: Runner<H>['run'];
}

/**
 * Runs histories until one shows a planted bug: it breaks the expected rule with the bug, and passes without it.
 * Returns that failure; null: none of the histories shows the bug.
 */
export async function findPlantedBug<H extends History>(search: BugSearch<H>): Promise<SimulationFailure | null> {
  for (const seed of search.seeds) {
    const history = search.drawHistory(seed);
    const failure = await search.withBug(history);
    if (failure?.rule === search.breaks && (await search.withoutBug(history)) === null) return failure;
  }
  return null;
}

export function* seedsFrom(first: number, count: number): Generator<number> {
  for (let index = 0; index < count; index++) yield first + index;
}
