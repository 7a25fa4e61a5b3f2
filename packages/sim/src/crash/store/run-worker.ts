import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { isAwaited, type KillPlan } from './kill-plan.ts';
import type { Line, WorkerOrders } from './line.ts';

/** Sources and build lie side by side, so this finds the built worker from either. */
const WORKER = fileURLToPath(new URL('../../../dist/crash/store/worker.js', import.meta.url));
const WAIT_MS_MAX = 450_000;
const COMPLAINT_UNITS_MAX = 10_000;

/** Runs a worker until the plan says so, kills it, and gives all that it said up to then. */
export function runWorker(orders: WorkerOrders, plan: KillPlan): Promise<readonly Line[]> {
  const child = spawn(process.execPath, [WORKER, JSON.stringify(orders)], { stdio: ['ignore', 'pipe', 'pipe'] });
  const execution = new Execution(child, plan);
  return execution.lines;
}

class Execution {
  readonly lines: Promise<readonly Line[]>;
  readonly #child: ChildProcess;
  readonly #plan: KillPlan;
  readonly #heard: Line[] = [];
  #left: number;
  #unfinished = '';
  #complaint = '';
  #isKilled = false;

  constructor(child: ChildProcess, plan: KillPlan) {
    this.#child = child;
    this.#plan = plan;
    this.#left = plan.count;
    child.stdout?.setEncoding('utf8').on('data', (text: string) => this.#hear(text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#complaint = (this.#complaint + text).slice(-COMPLAINT_UNITS_MAX);
    });
    this.lines = this.#end();
  }

  /** The pipe is read to its end, also after the kill: what was said before counts. */
  #end(): Promise<readonly Line[]> {
    return new Promise((resolve, reject) => {
      const alarm = setTimeout(() => this.#child.kill('SIGKILL'), WAIT_MS_MAX);
      this.#child.once('error', reject);
      this.#child.once('close', (code, signal) => {
        clearTimeout(alarm);
        // A worker that says it has failed ends by itself, and its last line says why.
        if (this.#isKilled || this.#heard.at(-1)?.say === 'failed') resolve(this.#heard);
        else reject(new Error(`the worker ended by itself (${signal ?? code}) or was too slow: ${this.#complaint}`));
      });
    });
  }

  #hear(text: string): void {
    const lines = (this.#unfinished + text).split('\n');
    this.#unfinished = lines.pop() ?? '';
    for (const line of lines) this.#note(JSON.parse(line) as Line);
  }

  #note(line: Line): void {
    this.#heard.push(line);
    if (!isAwaited(this.#plan, line)) return;
    this.#left--;
    if (this.#left === 0) this.#killSoon();
  }

  #killSoon(): void {
    setTimeout(() => {
      this.#isKilled = this.#child.kill('SIGKILL');
    }, this.#plan.delayMs);
  }
}
