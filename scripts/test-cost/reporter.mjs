import { mkdirSync, writeFileSync } from 'node:fs';
import { COST_LINES, dearest, readCosts, secondsText } from './costs.mjs';

const SHOWN = 10;

/** Prints the dearest test files after a run. `npm run test:cost` compares all of them with their budgets. */
export class CostReporter {
  onTestRunStart() {
    mkdirSync(new URL('.', COST_LINES), { recursive: true });
    writeFileSync(COST_LINES, '');
  }

  onTestRunEnd() {
    const costs = readCosts();
    // The runs of a few files need no such list.
    if (costs.size <= SHOWN) return;
    const total = [...costs.values()].reduce((sum, ms) => sum + ms, 0);
    const lines = dearest(costs, SHOWN).map(([file, ms]) => `${secondsText(ms)}  ${file}\n`);
    process.stdout.write(`\nCPU time of ${costs.size} files: ${secondsText(total).trim()}\n${lines.join('')}`);
  }
}
