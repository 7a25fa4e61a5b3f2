import { type Bench, type Engine, openBenches } from './engines.ts';
import { drawHistory } from './history.ts';
import { findFailure, type SimulationFailure } from './simulate.ts';

/**
 * A store waits for its disk or its server most of the time, so several histories run side by side, each on its own.
 * Those on a Valkey share a connection, and what they ask at once travels together.
 */
const LANES: Readonly<Record<Engine, number>> = { memory: 1, embedded: 4, valkey: 96, 'valkey-cluster': 96 };

export interface Campaign {
  readonly engine: Engine;
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

/** Runs the histories of many seeds, until one fails. */
export async function runCampaign(campaign: Campaign): Promise<CampaignResult> {
  const seeds = campaign.seeds[Symbol.iterator]();
  const progress: { histories: number; failure: SimulationFailure | null } = { histories: 0, failure: null };
  const lane = async (bench: Bench) => {
    while (progress.failure === null && campaign.isSpent?.() !== true) {
      const next = seeds.next();
      if (next.done === true) return;
      progress.failure ??= await findFailure(drawHistory(next.value), bench.makeSubject, campaign.engine);
      progress.histories++;
      campaign.onHistory?.(progress.histories);
    }
  };
  const benches = await openBenches(campaign.engine, LANES[campaign.engine]);
  await Promise.all(benches.map((bench) => onBench(bench, lane)));
  return progress;
}

async function onBench(bench: Bench, work: (bench: Bench) => Promise<void>): Promise<void> {
  try {
    await work(bench);
  } finally {
    await bench.close();
  }
}

export function* seedsFrom(first: number, count: number): Generator<number> {
  for (let index = 0; index < count; index++) yield first + index;
}
