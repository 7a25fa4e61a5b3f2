import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

// What was built, in a process of its own, as `npm run demo` starts it.
const MAIN = fileURLToPath(new URL('../dist/main.js', import.meta.url));

/** The demo in a process of its own, for tests. */
export interface DemoProcess {
  readonly child: ChildProcess;
  /** What it has said; resolves when it is ready or has ended. */
  readonly said: Promise<string>;
}

export function startDemoProcess(port: string, args: readonly string[] = []): DemoProcess {
  const child = spawn(process.execPath, [MAIN, ...args], {
    env: { ...process.env, DEMO_PORT: port },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = new Promise<string>((resolve) => {
    let text = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (piece: string) => {
        text += piece;
        if (text.includes('The demo is at')) resolve(text);
      });
    }
    child.once('close', () => resolve(text));
  });
  return { child, said };
}
