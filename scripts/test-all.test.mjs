import { readFileSync } from 'node:fs';
import { temporaryFolder } from '@tidemark/testing/kit';
import { expect, it, onTestFinished } from 'vitest';
import { recordText, summaryOf } from './test-all/record.mjs';
import { STEPS } from './test-all/steps.mjs';
import { runSteps } from './test-all.mjs';

const ABOUT = { startedAt: '2026-01-02T03:04:05.678Z', commit: 'abc', node: 'v20.1.0', cores: 2 };

function nodeStep(name, script, more = {}) {
  return { name, command: [process.execPath, '-e', script], ...more };
}

it('[TEST-3] all long tests are run whatever fails, a planted bug must be found, and the output is kept', async () => {
  const folder = await temporaryFolder();
  onTestFinished(folder.remove);
  const steps = [
    nodeStep('good', 'console.log("2 histories"); console.log("all is well")'),
    nodeStep('bad', 'console.error("lost a write"); process.exitCode = 1'),
    nodeStep('found', 'process.exitCode = 1', { finds: 'a-bug' }),
    nodeStep('missed', '', { finds: 'a-bug' }),
    nodeStep('broken', 'process.exitCode = 64', { finds: 'a-bug' }),
  ];
  const counts = [];
  const results = await runSteps(steps, { logs: folder.path, onResult: (so) => counts.push(so.length) });
  expect(results.map(({ name, hasPassed, summary }) => [name, hasPassed, summary])).toEqual([
    ['good', true, 'all is well'],
    ['bad', false, 'lost a write'],
    ['found', true, ''],
    ['missed', false, ''],
    ['broken', false, ''],
  ]);
  expect(counts).toEqual([1, 2, 3, 4, 5]);
  expect(readFileSync(`${folder.path}/good.log`, 'utf8')).toBe('2 histories\nall is well\n');
});

it('[TEST-3] the record has a row for every step that was run, and names those that were not', () => {
  const steps = [{ name: 'sim' }, { name: 'plant' }, { name: 'tabs' }];
  const results = [
    { name: 'sim', command: ['npm', 'test'], hasPassed: false, seconds: 119, summary: 'a | `b`' },
    { name: 'plant', command: ['npm', 'run', 'sim'], finds: 'bug', hasPassed: true, seconds: 300, summary: '' },
  ];
  expect(recordText({ ...ABOUT, steps }, results)).toBe(`# Record of the long tests

\`npm run test:all\` has written this page. The run began at 2026-01-02T03:04:05.678Z, on the commit \`abc\`, with Node.js v20.1.0 on 2 cores.
[Run the proof yourself](proof.md) explains the commands.

| Step | Command | Result | Time | What it said at the end |
|---|---|---|---|---|
| sim | \`npm test\` | **failed** | 119 s | \`a / 'b'\` |
| plant | \`npm run sim\` | found | 5 min |  |

Not run: tabs.
`);
  expect(recordText({ ...ABOUT, steps: [steps[0]] }, results.slice(0, 1))).toContain('\nAll steps were run.\n');
});

it('[TEST-3] the summary of a step is what vitest counted, or its last line', () => {
  const esc = String.fromCharCode(27);
  const vitest = `${esc}[2m Test Files ${esc}[22m  1 failed | 411 passed (412)\n      Tests  1 failed (6059)\n\nCPU time of 412 files\n`;
  expect(summaryOf(vitest)).toBe('Test Files 1 failed | 411 passed (412); Tests 1 failed (6059)');
  expect(summaryOf('first\nlast\n\n')).toBe('last');
  expect(summaryOf('x'.repeat(500))).toHaveLength(161);
});

it('[TEST-3] the steps of the long tests have names of their own', () => {
  expect(new Set(STEPS.map(({ name }) => name)).size).toBe(STEPS.length);
});
