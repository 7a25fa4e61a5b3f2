import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './temporary-folder.ts';

export interface ServerProcessOptions {
  /** The data folder, which is also the home and working directory of the process. */
  readonly folder: string;
  /** The address of another store. Absent: the embedded store in the folder. */
  readonly address?: string;
  /** More arguments of `tidemark serve`. */
  readonly args?: readonly string[];
  /** More environment variables. Of this process's own, only PATH and the overload limit are passed on. */
  readonly env?: Readonly<Record<string, string>>;
}

// This path leads from src and from dist to the built command line.
const MAIN = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));
const READY = /is ready at (http:\/\/127\.0\.0\.1:[0-9]+)$/;
const STDERR_UNITS_MAX = 20_000;
/** vitest.config.ts raises it, because a loaded machine delays the event loop for seconds. */
const OVERLOAD = 'TIDEMARK_OVERLOAD_EVENT_LOOP_DELAY_MS_MAX';
const ADMIN_PASSWORD = 'kelp-forest-9341';

/** Servers to kill when this process exits. */
const running = new Set<ChildProcess>();
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** The built server in a process of its own, which can be killed and started again on the same data. */
export class ServerProcess {
  readonly adminPassword = ADMIN_PASSWORD;
  /** Lines of its standard output until it was ready. */
  readonly lines: string[] = [];
  readonly #options: ServerProcessOptions;
  readonly #onStopped: () => Promise<void>;
  #child: ChildProcess | null = null;
  #url: string | null = null;
  #isReady = false;
  #stderr = '';

  constructor(options: ServerProcessOptions, onStopped: () => Promise<void> = async () => undefined) {
    this.#options = options;
    this.#onStopped = onStopped;
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

  /** True while it runs and accepts requests. */
  get isReady(): boolean {
    return this.#isReady && this.isRunning;
  }

  get isRunning(): boolean {
    return this.#child !== null && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The end of its standard error output. */
  get stderr(): string {
    return this.#stderr;
  }

  /** Resolves when the server is ready. A server that is started again gets the same port. */
  async start(): Promise<this> {
    const { PATH = '', [OVERLOAD]: overload } = process.env;
    const { folder, address, args = [] } = this.#options;
    await mkdir(folder, { recursive: true });
    const port = this.#url === null ? '0' : new URL(this.#url).port;
    const env = {
      ...{ PATH, HOME: folder, TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD, TIDEMARK_LOG_LEVEL: 'error' },
      ...(overload === undefined ? {} : { [OVERLOAD]: overload }),
      ...(address === undefined ? {} : { TIDEMARK_STORE: address }),
      ...this.#options.env,
    };
    const all = [MAIN, 'serve', '--port', port, '--data', folder, '--log-format', 'json', ...args];
    const child = spawn(process.execPath, all, { env, cwd: folder, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    running.add(child);
    child.once('exit', () => running.delete(child));
    this.#isReady = false;
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#stderr = (this.#stderr + text).slice(-STDERR_UNITS_MAX);
    });
    this.#url = await this.#readyAt(child);
    this.#isReady = true;
    return this;
  }

  /** Sends SIGKILL: the server cannot finish anything. */
  async kill(): Promise<void> {
    await this.#end('SIGKILL');
  }

  /** Sends SIGTERM and resolves with the exit code. */
  async stop(): Promise<{ readonly code: number | null }> {
    const end = await this.#end('SIGTERM');
    await this.#onStopped();
    return end;
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
    throw new Error(`the server did not start; has ${MAIN} been built? ${this.#stderr}`);
  }
}

/** Starts a server on a free port with a temporary data folder, which `stop` removes. */
export async function startServerProcess(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const folder = await temporaryFolder();
  const server = new ServerProcess({ folder: folder.path, env }, folder.remove);
  try {
    return await server.start();
  } catch (error) {
    await server.stop();
    throw error;
  }
}
