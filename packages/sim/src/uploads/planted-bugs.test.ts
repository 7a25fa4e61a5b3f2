import { describe, expect, it } from 'vitest';
import { huntUploadBug } from './hunt.ts';
import { readKeptUploadSeeds } from './kept-seeds.ts';
import { PLANTED_UPLOAD_BUGS } from './planted-bugs.ts';
import { seedsFrom } from './simulate.ts';

/** Tried when the history that is kept for the bug does not show it any more. */
const HISTORIES_MAX = 2_000;

describe('bugs planted in uploads', () => {
  it.each(PLANTED_UPLOAD_BUGS)('[UPSIM-6] the simulation of uploads notices that $name', async (bug) => {
    const kept = (await readKeptUploadSeeds()).filter(({ found }) => found === bug.name).map(({ seed }) => seed);
    const caught = await huntUploadBug(bug, [...kept, ...seedsFrom(1, HISTORIES_MAX)]);
    expect(caught?.failure.rule).toBe(bug.breaks);
  });

  it('[UPSIM-6] there is a planted bug against every rule of the simulation of uploads', () => {
    const rules = ['UPSIM-1', 'UPSIM-2', 'UPSIM-3', 'UPSIM-4', 'UPSIM-5'];
    expect([...new Set(PLANTED_UPLOAD_BUGS.map(({ breaks }) => breaks))].sort()).toEqual(rules);
  });
});
