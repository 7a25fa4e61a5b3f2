import { writeFile } from 'node:fs/promises';
import { temporaryFolder } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { dearest, overBudget, readCosts } from './test-cost/costs.mjs';

it('the costs of test files are read, sorted, and compared with their budgets', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const file = `${folder.path}/costs.txt`;
  await writeFile(file, '900 a.test.ts\n12000 b c.test.ts\nrubbish\n7000 d.test.ts\n');
  const costs = readCosts(file);
  expect([...costs]).toEqual([
    ['a.test.ts', 900],
    ['b c.test.ts', 12_000],
    ['d.test.ts', 7_000],
  ]);
  expect(dearest(costs, 2)).toEqual([
    ['b c.test.ts', 12_000],
    ['d.test.ts', 7_000],
  ]);
  expect(overBudget(costs, { others: 5, files: { 'b c.test.ts': 12 } })).toEqual([
    { file: 'd.test.ts', ms: 7_000, budget: 5 },
  ]);
  expect(readCosts(`${folder.path}/none.txt`)).toEqual(new Map());
});
