import { rmSync } from 'node:fs';
import { makeMemoryFolder } from './memory-folder.mjs';
import { run } from './processes.mjs';
import { installPrograms, JSC, PROGRAMS } from './programs.mjs';
import { setup } from './setup.mjs';
import { LONG_TESTS } from './test-files.mjs';

const CHECKS = [
  ['biome', 'node_modules/@biomejs/biome/bin/biome', 'check', '.'],
  ['knip', 'node_modules/knip/bin/knip.js'],
  ['the type check of the tests', 'node_modules/typescript/bin/tsc', '-p', 'tsconfig.tests.json'],
];

const given = process.argv.slice(2);
const isLong = given.includes('--long');
const named = given.filter((arg) => arg !== '--long');
const args = isLong && named.every((arg) => arg.startsWith('-')) ? [...LONG_TESTS, ...named] : named;
if (isLong) process.env.TIDEMARK_LONG_TESTS = '1';
// Named files are tested alone, without the checks, and may not need the programs.
const isWholeRun = args.every((arg) => arg.startsWith('-'));

await setup();
const missing = await installPrograms(undefined, isLong ? [...PROGRAMS, JSC] : PROGRAMS);
if (missing !== null) process.stderr.write(`tidemark: ${missing}\n`);
if (missing !== null && isWholeRun) process.exit(1);
// Beside each other, because knip keeps only one core busy.
const checked = (isWholeRun ? CHECKS : []).map(async ([name, ...command]) => {
  return (await run(process.execPath, command)) === 0 ? [] : [name];
});
const failed = (await Promise.all(checked)).flat();
// The tests run even when a check fails, so that one run tells everything.
const tested = await runTests();
if (failed.length > 0) process.stderr.write(`tidemark: ${failed.join(', ')} found faults (above), so this run fails\n`);
process.exitCode = tested || failed.length;

async function runTests() {
  const folder = process.env.TMPDIR === undefined ? makeMemoryFolder() : null;
  const env = folder === null ? process.env : { ...process.env, TMPDIR: folder };
  try {
    return await run(process.execPath, ['node_modules/vitest/vitest.mjs', 'run', ...args], { env });
  } finally {
    if (folder !== null) rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}
