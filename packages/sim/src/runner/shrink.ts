import type { History, Runner, SimulationFailure } from './simulation.ts';

export interface Shrunk<H extends History> {
  readonly history: H;
  readonly failure: SimulationFailure;
  /** How many histories were tried. */
  readonly runs: number;
}

export interface ShrinkOptions<H extends History> {
  readonly run: Runner<H>['run'];
  readonly runsMax: number;
  readonly simplifyStep?: ((step: H['steps'][number]) => readonly H['steps'][number][]) | undefined;
}

/**
 * Shortens a failing history within a bounded number of runs: first it removes ranges of steps, then parts of the steps
 * that are left. What remains still breaks the same rule.
 */
export async function shrink<H extends History>(
  history: H,
  failure: SimulationFailure,
  options: ShrinkOptions<H>,
): Promise<Shrunk<H>> {
  const search = new ShrinkSearch(history, failure, options);
  for (let size = Math.ceil(search.length / 2); size >= 1; size = Math.floor(size / 2)) {
    await search.removeRanges(size);
  }
  await search.simplifySteps();
  await search.removeRanges(1);
  return search.result();
}

class ShrinkSearch<H extends History> {
  readonly #options: ShrinkOptions<H>;
  #best: H;
  #failure: SimulationFailure;
  #runs = 0;

  constructor(history: H, failure: SimulationFailure, options: ShrinkOptions<H>) {
    this.#options = options;
    this.#failure = failure;
    // Steps after the failure never ran.
    this.#best = { ...history, steps: history.steps.slice(0, failure.stepNumber) };
  }

  get length(): number {
    return this.#best.steps.length;
  }

  result(): Shrunk<H> {
    return { history: this.#best, failure: this.#failure, runs: this.#runs };
  }

  async removeRanges(size: number): Promise<void> {
    for (let at = this.length - size; at >= 0; at--) await this.#try(this.#best.steps.toSpliced(at, size));
  }

  async simplifySteps(): Promise<void> {
    for (let at = 0; at < this.length; at++) {
      for (let isSimpler = true; isSimpler; ) isSimpler = await this.#simplifyStep(at);
    }
  }

  /** Returns true when a simpler step shows the failure too. */
  async #simplifyStep(at: number): Promise<boolean> {
    const { steps } = this.#best;
    const step = steps[at];
    if (step === undefined) return false;
    for (const simpler of this.#options.simplifyStep?.(step) ?? []) {
      if (await this.#try(steps.with(at, simpler))) return true;
    }
    return false;
  }

  async #try(steps: H['steps']): Promise<boolean> {
    if (this.#runs >= this.#options.runsMax || steps.length === 0) return false;
    this.#runs++;
    const history = { ...this.#best, steps };
    const failure = await this.#options.run(history);
    if (failure === null || failure.rule !== this.#failure.rule) return false;
    this.#best = history;
    this.#failure = failure;
    return true;
  }
}
