import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { FailedLine } from '../processes/worker.ts';
import type { ConnectorLine, ConnectorTerms } from './connector-line.ts';
import { lsnNumber } from './lsn-number.ts';

const WORKER = fileURLToPath(new URL('../../dist/postgres/connector-worker.js', import.meta.url));
const STDERR_UNITS_MAX = 10_000;

/** Processes to kill when this one exits. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The connector in a process of its own, which can be killed and started again. It remembers what all its lives said. */
export class ConnectorProcess {
  /** Why it has compared everything. */
  readonly heals: string[] = [];
  readonly problems: string[] = [];
  readonly interruptions: { readonly reason: string; readonly code: string | null }[] = [];
  beats = 0;
  /** How often it has said something. */
  lines = 0;
  #child: ChildProcess | null = null;
  #position = 0n;
  /** Why the present run compares everything. It counts once the run is under way: one that fails before begins again. */
  #heal: string | null = null;
  #stderr = '';
  #wake: () => void = () => undefined;

  /** The last position that the present life has stored; 0: none. */
  get position(): bigint {
    return this.#position;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The end of its standard error output. */
  get stderr(): string {
    return this.#stderr;
  }

  start(terms: ConnectorTerms): void {
    const stdio: ['ignore', 'pipe', 'pipe'] = ['ignore', 'pipe', 'pipe'];
    const child = spawn(process.execPath, [WORKER, JSON.stringify(terms)], { stdio });
    running.add(child);
    child.once('exit', () => {
      running.delete(child);
      this.#wake();
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_UNITS_MAX);
    });
    createInterface({ input: child.stdout }).on('line', (text) => {
      if (this.#child === child) this.#take(text);
    });
    this.#child = child;
    this.#position = 0n;
    this.#heal = null;
  }

  /** With SIGKILL it cannot finish anything; with SIGTERM it ends in order. */
  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === null || !this.isRunning) return;
    // Its output is read to the end.
    const closed = once(child, 'close');
    child.kill(signal);
    await closed;
  }

  /** Resolves when it has said something more, or has ended. */
  heard(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }

  #take(text: string): void {
    const line = parsed(text);
    if (line === null) return;
    this.lines++;
    if (line.say === 'healed') this.#heal = line.reason;
    else if (line.say === 'problem') this.problems.push(`${line.table} ${line.key}: ${line.reason}`);
    else if (line.say === 'failed') this.#stderr += line.reason;
    else if (line.say === 'interrupted') {
      this.#heal = null;
      this.interruptions.push(line);
    } else this.#progress(line);
    this.#wake();
  }

  #progress(line: Extract<ConnectorLine, { readonly say: 'position' | 'beat' }>): void {
    if (this.#heal !== null) this.heals.push(this.#heal);
    this.#heal = null;
    if (line.say === 'position') this.#position = lsnNumber(line.position);
    else this.beats++;
  }
}

type Line = ConnectorLine | FailedLine;

/** Null: the kill cut the line short. */
function parsed(text: string): Line | null {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return null;
  }
}
