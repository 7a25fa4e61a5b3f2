import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

/** SIGKILL comes `delayMs` after the `count`-th line that `isCounted` accepts. */
export interface KillPlan<Line> {
  readonly isCounted: (line: Line) => boolean;
  readonly count: number;
  readonly delayMs: number;
}

export interface WorkerRun<Line> {
  /** Path of the built worker inside dist, such as `crash/store/worker.js`. */
  readonly program: string;
  /** What the worker gets; JSON. */
  readonly options: object;
  /** Null: the worker ends by itself. */
  readonly kill: KillPlan<Line> | null;
}

export interface WorkerEnd<Line> {
  /** Everything that the worker wrote before it ended. */
  readonly lines: readonly Line[];
  /** False: the worker ended by itself before its kill was due. */
  readonly isKilled: boolean;
}

const DIST = new URL('../../dist/', import.meta.url);
const RUN_MS_MAX = 450_000;
const STDERR_UNITS_MAX = 10_000;

/**
 * Starts a worker process, kills it as planned and returns what it wrote. Throws when it ended with an error that it did
 * not report itself, or when it took too long.
 */
export async function runWorker<Line extends { readonly say: string }>(run: WorkerRun<Line>): Promise<WorkerEnd<Line>> {
  const program = fileURLToPath(new URL(run.program, DIST));
  const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
  const child = spawn(process.execPath, [program, JSON.stringify(run.options)], { stdio });
  const closed = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const alarm = setTimeout(() => child.kill('SIGKILL'), RUN_MS_MAX);
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr = (stderr + text).slice(-STDERR_UNITS_MAX);
  });
  const lines: Line[] = [];
  let left = run.kill?.count ?? 0;
  let isKilled = false;
  const kill = async (delayMs: number) => {
    await sleep(delayMs);
    isKilled = child.kill('SIGKILL');
  };
  let killing: Promise<void> | undefined;
  // The pipe is read to its end, also after the kill: what was written before counts.
  for await (const text of createInterface({ input: child.stdout })) {
    const line = parseLine<Line>(text);
    if (line === null) continue;
    lines.push(line);
    if (run.kill === null || !run.kill.isCounted(line)) continue;
    left--;
    if (left === 0) killing = kill(run.kill.delayMs);
  }
  const [code, signal] = await closed;
  await killing;
  clearTimeout(alarm);
  if (isKilled || code === 0 || lines.at(-1)?.say === 'failed') return { lines, isKilled };
  throw new Error(`the worker ended by itself (${signal ?? code}) or took longer than ${RUN_MS_MAX} ms: ${stderr}`);
}

/** Returns null for a line that the kill cut short: the worker never finished writing it. */
function parseLine<Line>(text: string): Line | null {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return null;
  }
}
