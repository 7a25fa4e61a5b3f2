import { CHROMIUM } from './chromium.mjs';
import { runTool, TOOLS } from './processes.mjs';
import { setupOrExit } from './setup.mjs';
import { VALKEY } from './valkey.mjs';

// The long run tries thousands of simulated histories where the everyday run tries hundreds.
const LONG_TESTS = ['simulation/'];

const given = process.argv.slice(2);
const isLong = given.includes('--long');
const args = isLong ? [...LONG_TESTS, ...given.filter((arg) => arg !== '--long')] : given;
if (isLong) process.env.TIDEMARK_LONG_TESTS = '1';
// Whoever names a file wants the answer about that file, and at once.
const wantsEverything = args.every((arg) => arg.startsWith('-'));

await setupOrExit();
if (needs(/valkey|simulation|conformance/)) await VALKEY.ensureOrExit();
if (needs(/browser/)) await CHROMIUM.ensureOrExit();
const checked = wantsEverything ? await check() : 0;
const tested = await runTool(TOOLS.vitest, ['run', ...args]);
process.exitCode = checked || tested;

/** Files named by part of their path need a program when that part has to do with it. */
function needs(part) {
  return wantsEverything || args.some((arg) => part.test(arg));
}

/** Lint and types. The tests run even when these fail, so that one run tells everything. */
async function check() {
  const linted = await runTool(TOOLS.biome, ['check', '.']);
  const typed = await runTool(TOOLS.tsc, ['-p', 'tsconfig.tests.json']);
  if (linted !== 0) process.stderr.write('tidemark: biome found faults (above), so this run fails\n');
  if (typed !== 0) process.stderr.write('tidemark: the tests do not type-check (above), so this run fails\n');
  return linted || typed;
}
