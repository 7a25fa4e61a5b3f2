import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';

/** Sources and build lie side by side, so this finds the built program from either. */
const MAIN = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));
const READY = /is ready at (http:\/\/127\.0\.0\.1:[0-9]+)$/;
export const ADMIN_PASSWORD = 'a harbour at dawn';

/** The program as it is shipped, in a process that can be killed and started again on the same data. */
export class ServerProcess {
  readonly #folder: string;
  #child: ChildProcess | null = null;
  #url: URL | null = null;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get url(): URL {
    if (this.#url === null) throw new Error('the server was never started');
    return this.#url;
  }

  async start(): Promise<void> {
    const { PATH = '' } = process.env;
    const env = { PATH, HOME: this.#folder, TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD, TIDEMARK_LOG_LEVEL: 'silent' };
    const args = [MAIN, 'serve', '--port', this.#url?.port ?? '0', '--data', this.#folder];
    const child = spawn(process.execPath, args, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child = child;
    let complaint = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      complaint = (complaint + text).slice(-2_000);
    });
    const ended = once(child, 'exit').then(() => [null]);
    for await (const [line] of linesUntil(createInterface({ input: child.stdout }), ended)) {
      const [, url] = READY.exec(line) ?? [];
      if (url === undefined) continue;
      this.#url = new URL(url);
      return;
    }
    throw new Error(`the server did not start: ${complaint}`);
  }

  /** SIGKILL: it gets no chance to finish anything. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child === null || child.exitCode !== null || child.signalCode !== null) return;
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
  }
}

async function* linesUntil(lines: NodeJS.EventEmitter, end: Promise<unknown[]>): AsyncGenerator<[string]> {
  for (;;) {
    const [line] = (await Promise.race([once(lines, 'line'), end])) as [string | null];
    if (line === null) return;
    yield [line];
  }
}
