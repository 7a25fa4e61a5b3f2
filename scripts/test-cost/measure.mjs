// Runs in every worker before each test file: notes the CPU time that the file takes, with the processes it starts.
import { appendFileSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, expect } from 'vitest';
import { COST_LINES } from './costs.mjs';

/** Where the user time stands in /proc/PID/stat behind the name; system time and both of ended children follow. */
const FIRST_TIME_FIELD = 11;
/** The kernel counts the CPU time that programs are told in hundredths of a second. */
const MS_PER_TICK = 10;

const before = cpuMs();

// Registered before the hooks of the file, so it runs after them, when what the file has started is ended.
afterAll(() => {
  const after = cpuMs();
  const { testPath } = expect.getState();
  if (before === null || after === null || testPath === undefined) return;
  appendFileSync(COST_LINES, `${after - before} ${relative(process.cwd(), testPath)}\n`);
});

/** The CPU time of this process and of its ended children. Null: this system does not tell. */
function cpuMs() {
  try {
    const fields = readFileSync('/proc/self/stat', 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const ticks = fields.slice(FIRST_TIME_FIELD, FIRST_TIME_FIELD + 4).map(Number);
    return ticks.reduce((sum, count) => sum + count, 0) * MS_PER_TICK;
  } catch {
    return null;
  }
}
