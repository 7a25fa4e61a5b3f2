import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runUploadsCrashes } from './run-uploads-crashes.ts';

const HELP = `Examples
  npm run crash:uploads                                     50 kills of a worker in the middle of 1,000 uploads
  npm run crash:uploads -- --kills 10 --uploads 200 --seed 7

The exit code is 1 when an upload was lost, doubled, out of order or not told.
`;

const { values } = parseArgs({
  options: {
    kills: { type: 'string', default: '50' },
    uploads: { type: 'string', default: '1000' },
    seed: { type: 'string', default: '1' },
    help: { type: 'boolean', short: 'h', default: false },
  },
});

if (values.help) process.stdout.write(HELP);
else {
  const folder = await mkdtemp(join(tmpdir(), 'tidemark-uploads-'));
  const [kills, uploads, seed] = [values.kills, values.uploads, values.seed].map(Number) as [number, number, number];
  const report = await runUploadsCrashes({ kills, uploads, seed, folder });
  await rm(folder, { recursive: true, force: true });
  process.stdout.write(`${report.kills} kills, ${uploads} uploads, ${report.calls} calls to the backend\n`);
  for (const problem of report.problems) process.stdout.write(`${problem}\n`);
  if (report.problems.length > 0) process.exitCode = 1;
}
