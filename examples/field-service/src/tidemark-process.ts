import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';

const MAIN = fileURLToPath(new URL('../../../packages/cli/dist/main.js', import.meta.url));

export interface TidemarkProcess {
  readonly url: string;
  readonly child: ChildProcess;
  stop(): Promise<void>;
}

/** Starts Tidemark beside us; what it logs goes where ours goes. */
export async function startTidemark(env: Readonly<Record<string, string>>): Promise<TidemarkProcess> {
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...process.env, ...env },
    // By the IPC channel it notices when this process ends, even by SIGKILL.
    stdio: ['ignore', 'pipe', 'inherit', 'ipc'],
  });
  const lines = createInterface({ input: child.stdout as Readable });
  const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => [''])]);
  const [url] = /http:\S+/.exec(String(line)) ?? [];
  if (url === undefined) throw new Error('Tidemark did not start');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await once(child, 'exit');
  };
  return { url, child, stop };
}
