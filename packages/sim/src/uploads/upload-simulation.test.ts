import { expect, it } from 'vitest';
import { drawUploadHistory } from './draw-history.ts';
import { readKeptUploadSeeds } from './kept-seeds.ts';
import { findUploadFailure, seedsFrom, tryUploadHistories } from './simulate.ts';

/** `npm run test:long` tries thousands of histories where `npm test` tries hundreds. */
const HISTORIES = process.env.TIDEMARK_LONG_TESTS === '1' ? 5_000 : 150;
/** Ends a test that hangs. Histories take as long as the machine needs. */
const TIMEOUT_MS = 3_600_000;

it('[UPSIM-1] [UPSIM-2] [UPSIM-3] [UPSIM-4] [UPSIM-5] uploads to a backend hold in histories that once found something, and in random ones', {
  timeout: TIMEOUT_MS,
}, async () => {
  const kept = (await readKeptUploadSeeds()).map(({ seed }) => seed);
  const failure = await tryUploadHistories([...new Set([...kept, ...seedsFrom(1, HISTORIES)])]);
  if (failure !== null) throw failure;
});

it('[UPSIM-6] a seed always means the same history of uploads, which goes the same way', async () => {
  expect(drawUploadHistory(7)).toEqual(drawUploadHistory(7));
  const plant = { pull: () => Promise.reject(new Error('planted')) };
  const seed =
    [...seedsFrom(1, 50)].find((one) => drawUploadHistory(one).steps.some(({ kind }) => kind === 'pull')) ?? 1;
  const failures = [
    await findUploadFailure(drawUploadHistory(seed), plant),
    await findUploadFailure(drawUploadHistory(seed), plant),
  ];
  expect(failures.map((failure) => [failure?.seed, failure?.stepNumber])).toEqual([
    [seed, failures[0]?.stepNumber],
    [seed, failures[0]?.stepNumber],
  ]);
  expect(failures[0]?.message).toContain(`npm run sim:uploads -- --seed ${seed}`);
});
