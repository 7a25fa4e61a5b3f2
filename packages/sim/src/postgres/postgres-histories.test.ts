import { describe, expect, it } from 'vitest';
import { failedSeedsOf } from '../runner/failed-seeds.ts';
import { runCampaign, seedsFrom } from '../runner/simulation.ts';
import { drawHistory } from './draw-history.ts';
import { simplifyStep } from './simplify-step.ts';
import { postgresSimulation } from './simulate.ts';

/** `npm run test:long` runs hundreds of histories where `npm test` runs one. */
const IS_LONG = process.env.TIDEMARK_LONG_TESTS === '1';
const HISTORIES = 300;
/** A history of ten steps, in which a process is killed, calls are cut, a copy is held up and the mapping changes. */
const EVERYDAY_SEED = 37;
/** Ends a test that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 7_200_000;

describe('histories of a connected Postgres', () => {
  it('[PGSIM-1] [PGSIM-2] [PGSIM-3] [PGSIM-4] [PGSIM-5] [PGSIM-6] [PGSIM-7] histories of a connected Postgres that once failed, and random ones, pass', {
    timeout: TIMEOUT_MS,
  }, async () => {
    const all = async () => [...(await failedSeedsOf(postgresSimulation.name)), ...seedsFrom(1, HISTORIES)];
    const seeds = new Set(IS_LONG ? await all() : [EVERYDAY_SEED]);
    const { histories, failure } = await runCampaign(postgresSimulation, { seeds });
    if (failure !== null) throw failure;
    expect(histories).toBe(seeds.size);
  });

  it('[PGSIM-8] a seed always gives the same history of a connected Postgres', () => {
    expect(drawHistory(7)).toEqual(drawHistory(7));
    expect(drawHistory(7)).not.toEqual(drawHistory(8));
  });

  it('[PGSIM-8] a step of transactions becomes simpler by fewer transactions and by fewer statements', () => {
    const one = { statements: ['a', 'b'], isRolledBack: false };
    const other = { statements: ['c'], isRolledBack: true };
    expect(simplifyStep({ kind: 'transactions', transactions: [one, other], turns: [1, 0, 0] })).toEqual([
      { kind: 'transactions', transactions: [other], turns: [0] },
      { kind: 'transactions', transactions: [one], turns: [0, 0] },
      { kind: 'transactions', transactions: [{ ...one, statements: ['b'] }, other], turns: [0, 1] },
      { kind: 'transactions', transactions: [{ ...one, statements: ['a'] }, other], turns: [0, 1] },
    ]);
    expect(simplifyStep({ kind: 'catch_up' })).toEqual([]);
  });
});
