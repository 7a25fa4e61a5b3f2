import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
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
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => [''])]);
  const [url] = /http:\S+/.exec(String(line)) ?? [];
  if (url === undefined) throw new Error('Tidemark did not start');
  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null && child.kill('SIGTERM')) await once(child, 'exit');
  };
  return { url, child, stop };
}
