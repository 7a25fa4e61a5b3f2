import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { setTimeout as pass } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Line, WorkerOrders } from './line.ts';

/** Sources and build lie side by side, so this finds the built worker from either. */
const WORKER = fileURLToPath(new URL('../../../dist/crash/jobs/worker.js', import.meta.url));
const WAIT_MS_MAX = 450_000;

/** When a worker is killed: so long after its so-manieth line. */
export interface KillPlan {
  readonly lines: number;
  readonly delayMs: number;
}

/** Runs a worker until the plan says so, kills it, and gives all that it said up to then. */
export async function runWorker(
  orders: WorkerOrders,
  { lines: linesMax, delayMs }: KillPlan,
): Promise<readonly Line[]> {
  const child = spawn(process.execPath, [WORKER, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'close');
  const alarm = setTimeout(() => child.kill('SIGKILL'), WAIT_MS_MAX);
  const heard: Line[] = [];
  let killing: Promise<unknown> | null = null;
  // The pipe is read to its end, also after the kill: what was said before counts. A line cut short was never said.
  for await (const text of createInterface({ input: child.stdout })) {
    const line = readLine(text);
    if (line !== null) heard.push(line);
    if (heard.length >= linesMax) killing ??= pass(delayMs).then(() => child.kill('SIGKILL'));
  }
  clearTimeout(alarm);
  await killing;
  if (killing === null && heard.at(-1)?.say !== 'failed') {
    const [code, signal] = await ended;
    throw new Error(`the worker ended by itself or was too slow (${signal ?? code}, ${heard.length} lines)`);
  }
  return heard;
}

function readLine(text: string): Line | null {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return null;
  }
}
