import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { FailedLine } from '../processes/worker.ts';
import type { ConnectorLine, ConnectorTerms } from './connector-line.ts';
import { lsnNumber } from './lsn-number.ts';

const WORKER = fileURLToPath(new URL('../../dist/postgres/connector-worker.js', import.meta.url));
const STDERR_UNITS_MAX = 10_000;

type EndSignal = 'SIGKILL' | 'SIGTERM';

/** Processes to kill when this one exits. */
const running = new Set<ChildProcess>();

/** How many processes of connectors run. */
export function runningConnectors(): number {
  return running.size;
}

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
  /** What begins and ends processes, one after the other. */
  #turn: Promise<void> = Promise.resolve();

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

  /**
   * Ends the process and starts it again; `between` is done while none runs. A kill may come while a step does the same: two processes
   * side by side would keep the slot from each other.
   */
  restart(signal: EndSignal, terms: () => ConnectorTerms, between = async () => undefined as unknown): Promise<void> {
    return this.#inTurn(async () => {
      await this.#end(signal);
      await between();
      this.start(terms());
    });
  }

  /** Ends the process, behind restarts that have begun. */
  end(signal: EndSignal): Promise<void> {
    return this.#inTurn(() => this.#end(signal));
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#turn.then(work);
    this.#turn = done.catch(() => undefined);
    return done;
  }

  /** With SIGKILL it cannot finish anything; with SIGTERM it ends in order. */
  async #end(signal: EndSignal): Promise<void> {
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
