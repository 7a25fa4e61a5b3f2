import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Sources and build lie side by side, so this finds the built program from either. */
const MAIN = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));
const READY = /is ready at (http:\/\/127\.0\.0\.1:[0-9]+)$/;
export const FLEET_PASSWORD = 'a lighthouse in fog';

/** What all servers of a fleet share. */
export interface FleetStore {
  /** The data folder, which is also their home. */
  readonly folder: string;
  /** The address of another store. Absent: the one in the folder. */
  readonly address?: string;
}

/** One server of several on the same store, as it is shipped, in a process of its own. */
export class FleetServer {
  readonly #store: FleetStore;
  readonly #args: readonly string[];
  readonly #env: Readonly<Record<string, string>>;
  #child: ChildProcess | null = null;
  #url: string | null = null;
  #isReady = false;
  /** What it has said on its standard output and error output. */
  readonly lines: string[] = [];
  said = '';

  constructor(store: FleetStore, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}) {
    this.#store = store;
    this.#args = args;
    this.#env = env;
  }

  get url(): string {
    if (this.#url === null) throw new Error('the server was never started');
    return this.#url;
  }

  get pid(): number {
    const { pid } = this.#child ?? {};
    if (pid === undefined) throw new Error('the server does not run');
    return pid;
  }

  /** It runs, and has said that it is ready. */
  get isReady(): boolean {
    return this.#isReady && this.isRunning;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Resolves when it is ready; a second time it comes back at the same port. */
  async start(): Promise<this> {
    const { PATH = '' } = process.env;
    const { folder, address } = this.#store;
    const port = this.#url === null ? '0' : new URL(this.#url).port;
    const env = {
      ...{ PATH, HOME: folder, TIDEMARK_ADMIN_PASSWORD: FLEET_PASSWORD, TIDEMARK_LOG_LEVEL: 'error' },
      ...(address === undefined ? {} : { TIDEMARK_STORE: address }),
      ...this.#env,
    };
    const args = [MAIN, 'serve', '--port', port, '--data', folder, '--log-format', 'json', ...this.#args];
    const child = spawn(process.execPath, args, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    this.#isReady = false;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.said = (this.said + text).slice(-20_000);
    });
    this.#url = await this.#readyAt(child);
    this.#isReady = true;
    return this;
  }

  /** SIGKILL: it gets no chance to finish anything. */
  kill(): Promise<unknown> {
    return this.#end('SIGKILL');
  }

  /** Resolves with how it ended. */
  stop(): Promise<{ readonly code: number | null }> {
    return this.#end('SIGTERM');
  }

  async #end(signal: NodeJS.Signals): Promise<{ readonly code: number | null }> {
    const child = this.#child;
    if (child === null || !this.isRunning) return { code: child?.exitCode ?? null };
    const exited = once(child, 'exit') as Promise<[number | null]>;
    child.kill(signal);
    const [code] = await exited;
    return { code };
  }

  async #readyAt({ stdout }: ChildProcess): Promise<string> {
    if (stdout === null) throw new Error('the server has no output');
    for await (const line of createInterface({ input: stdout })) {
      this.lines.push(line);
      const [, url] = READY.exec(line) ?? [];
      if (url !== undefined) return url;
    }
    throw new Error(`the server did not start: ${this.said}`);
  }
}
