import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream, mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { isEntry, ROOT } from './processes.mjs';
import { currentCommit, recordText, summaryOf } from './test-all/record.mjs';
import { STEPS } from './test-all/steps.mjs';

/** The page that says what the last run has shown; docs/explanation/proof.md links to it. */
const RECORD = join(ROOT, 'docs/explanation/proof-record.md');
const LOGS = join(ROOT, 'node_modules/.cache/tidemark/test-all');
/** The summary is in the last lines, however much a step prints. */
const TAIL_UNITS_MAX = 20_000;

/**
 * Runs the steps one after the other, whatever fails, and keeps the output of each in a file. `onResult` gets all results so
 * far, so that a run that is ended early leaves the record of what it did.
 */
export async function runSteps(steps, { logs, onResult }) {
  mkdirSync(logs, { recursive: true });
  const results = [];
  for (const step of steps) {
    process.stdout.write(`${step.name}: ${step.command.join(' ')}\n`);
    results.push({ ...step, ...(await runStep(step, join(logs, `${step.name}.log`))) });
    onResult(results);
  }
  return results;
}

async function runStep({ command, finds }, logFile) {
  const [program, ...args] = command;
  const startMs = performance.now();
  const child = spawn(program, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
  const log = createWriteStream(logFile);
  let tail = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      log.write(text);
      tail = (tail + text).slice(-TAIL_UNITS_MAX);
    });
  }
  const [code] = await once(child, 'close');
  log.end();
  // A planted bug must be found, and then the run fails. Other codes than 1 mean that it could not run.
  const hasPassed = finds === undefined ? code === 0 : code === 1;
  return { hasPassed, seconds: Math.round((performance.now() - startMs) / 1_000), summary: summaryOf(tail) };
}

async function main() {
  const { values } = parseArgs({ options: { only: { type: 'string' } } });
  const only = values.only?.split(',') ?? null;
  const unknown = (only ?? []).filter((name) => !STEPS.some((step) => step.name === name));
  if (unknown.length > 0) {
    const names = STEPS.map(({ name }) => name).join(', ');
    process.stderr.write(`tidemark: --only: there is no ${unknown.join(', ')}; there are ${names}\n`);
    return 64;
  }
  const about = {
    startedAt: new Date().toISOString(),
    commit: currentCommit(ROOT),
    node: process.version,
    cores: availableParallelism(),
    steps: STEPS,
  };
  const onResult = (results) => writeFileSync(RECORD, recordText(about, results));
  const results = await runSteps(
    STEPS.filter(({ name }) => only === null || only.includes(name)),
    { logs: LOGS, onResult },
  );
  const failed = results.filter(({ hasPassed }) => !hasPassed);
  for (const { name } of failed) process.stdout.write(`${name} failed: ${join(LOGS, `${name}.log`)}\n`);
  process.stdout.write(`${RECORD} has the results\n`);
  return failed.length === 0 ? 0 : 1;
}

if (isEntry(import.meta.url)) process.exitCode = await main();
