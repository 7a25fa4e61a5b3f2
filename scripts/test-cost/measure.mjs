// Runs in every worker before each test file: notes the CPU time that the file takes, with the processes it starts.
import { appendFileSync, readdirSync, readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { afterAll, expect } from 'vitest';
import { COST_LINES } from './costs.mjs';

/** Where these stand in /proc/PID/stat behind the name. System time and both times of ended children follow the user time. */
const PARENT_FIELD = 1;
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

/** The CPU time of this process and of all below it, such as a browser that several files share. Null: this system does not tell. */
function cpuMs() {
  const all = readProcesses();
  if (!all.has(process.pid)) return null;
  const isBelow = (pid) => pid === process.pid || (all.has(pid) && isBelow(all.get(pid).parent));
  const ticks = [...all].filter(([pid]) => isBelow(pid)).map(([, { ticks }]) => ticks);
  return ticks.reduce((sum, count) => sum + count, 0) * MS_PER_TICK;
}

/** Returns the running processes: id → parent, and CPU time with that of ended children. */
function readProcesses() {
  const pids = readdirIfThere('/proc').filter((name) => /^\d+$/.test(name));
  return new Map(pids.flatMap((pid) => readProcess(Number(pid))));
}

function readdirIfThere(folder) {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function readProcess(pid) {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ').map(Number) ?? [];
    const times = fields.slice(FIRST_TIME_FIELD, FIRST_TIME_FIELD + 4);
    return [[pid, { parent: fields[PARENT_FIELD], ticks: times.reduce((sum, ticks) => sum + ticks, 0) }]];
  } catch {
    // It has ended meanwhile.
    return [];
  }
}
