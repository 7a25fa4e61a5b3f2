import { readFileSync } from 'node:fs';
import { overBudget, readCosts, secondsText } from './test-cost/costs.mjs';

// Compares what the files of the last test run cost with what they may cost. Machines differ, so nothing fails.
const budgets = JSON.parse(readFileSync(new URL('test-cost/budgets.json', import.meta.url), 'utf8'));
const costs = readCosts();
if (costs.size === 0) process.stdout.write('there is no test run to look at; run npm test first\n');
else {
  const over = overBudget(costs, budgets);
  for (const { file, ms, budget } of over) process.stdout.write(`${secondsText(ms)} of ${budget} s  ${file}\n`);
  process.stdout.write(`${over.length} of ${costs.size} test files cost more CPU time than they may\n`);
}
