import { describe, expect, it } from 'vitest';
import { seedsFrom } from './campaign.ts';
import { hunt } from './hunt.ts';
import { PLANTED_BUGS } from './planted-bugs.ts';
import type { Rule } from './violation.ts';

const FIRST_SEED = 100_001;
/** Most bugs show themselves within ten histories, the shyest need several hundred. */
const HISTORIES_MAX = 1_500;

describe('planted bugs', () => {
  it.each(PLANTED_BUGS)('[SIM-11] is caught: $name', async (bug) => {
    const caught = await hunt(bug, seedsFrom(FIRST_SEED, HISTORIES_MAX));
    expect(caught?.failure.rule).toBe(bug.breaks);
  });

  it('[SIM-11] there is one against every rule', () => {
    const rules: Rule[] = ['SIM-1', 'SIM-2', 'SIM-3', 'SIM-4', 'SIM-5', 'SIM-6', 'SIM-7', 'SIM-8', 'SIM-9'];
    expect([...new Set(PLANTED_BUGS.map(({ breaks }) => breaks))].sort()).toEqual(rules);
  });
});
