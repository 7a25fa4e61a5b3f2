import { type Bench, type Engine, openBench } from './engines.ts';
import { drawHistory } from './history.ts';
import { findFailure, type SimulationFailure } from './simulate.ts';

/** An embedded store waits for its disk most of the time, so several histories run side by side, each on its own. */
const LANES: Readonly<Record<Engine, number>> = { memory: 1, embedded: 4 };

export interface Campaign {
  readonly engine: Engine;
  readonly seeds: Iterable<number>;
  /** Asked before each history; true ends the campaign. */
  readonly isOver?: () => boolean;
  readonly onHistory?: (count: number) => void;
}

export interface CampaignResult {
  readonly histories: number;
  /** The first failure; the campaign ends with it. */
  readonly failure: SimulationFailure | null;
}

/** Runs the histories of many seeds, until one fails. */
export async function runCampaign(campaign: Campaign): Promise<CampaignResult> {
  const seeds = campaign.seeds[Symbol.iterator]();
  const progress: { histories: number; failure: SimulationFailure | null } = { histories: 0, failure: null };
  const lane = async (bench: Bench) => {
    while (progress.failure === null && campaign.isOver?.() !== true) {
      const next = seeds.next();
      if (next.done === true) return;
      progress.failure ??= await findFailure(drawHistory(next.value), bench.makeSubject, campaign.engine);
      progress.histories++;
      campaign.onHistory?.(progress.histories);
    }
  };
  await Promise.all(Array.from({ length: LANES[campaign.engine] }, () => onBench(campaign.engine, lane)));
  return progress;
}

async function onBench(engine: Engine, work: (bench: Bench) => Promise<void>): Promise<void> {
  const bench = await openBench(engine);
  try {
    await work(bench);
  } finally {
    await bench.close();
  }
}

export function* seedsFrom(first: number, count: number): Generator<number> {
  for (let index = 0; index < count; index++) yield first + index;
}
