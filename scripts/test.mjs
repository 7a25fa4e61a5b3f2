import { runTool, TOOLS } from './processes.mjs';
import { setupOrExit } from './setup.mjs';
import { ensureServerOrExit } from './valkey.mjs';

const args = process.argv.slice(2);
// Whoever names a file wants the answer about that file, and at once.
const wantsEverything = args.every((arg) => arg.startsWith('-'));

await setupOrExit();
if (needsServer()) await ensureServerOrExit();
const checked = wantsEverything ? await check() : 0;
const tested = await runTool(TOOLS.vitest, ['run', ...args]);
process.exitCode = checked || tested;

/** Files named by part of their path need a server when that part has to do with the engine. */
function needsServer() {
  return wantsEverything || args.some((arg) => /valkey|simulation|conformance/.test(arg));
}

/** Lint and types. The tests run even when these fail, so that one run tells everything. */
async function check() {
  const linted = await runTool(TOOLS.biome, ['check', '.']);
  const typed = await runTool(TOOLS.tsc, ['-p', 'tsconfig.tests.json']);
  if (linted !== 0) process.stderr.write('tidemark: biome found faults (above), so this run fails\n');
  if (typed !== 0) process.stderr.write('tidemark: the tests do not type-check (above), so this run fails\n');
  return linted || typed;
}
