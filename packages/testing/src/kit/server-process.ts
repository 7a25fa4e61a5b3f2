import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from './temporary-folder.ts';

/** The server as it is shipped, in a process of its own. */
export interface ServerProcess {
  readonly url: string;
  readonly adminPassword: string;
  /** Ends the server and takes its data away. */
  stop(): Promise<void>;
}

const MAIN = fileURLToPath(new URL('../../../cli/dist/main.js', import.meta.url));
const ADMIN_PASSWORD = 'kelp-forest-9341';

/** Starts a server on a free port with a folder of its own. It is what was last built. */
export async function startServerProcess(env: Readonly<Record<string, string>> = {}): Promise<ServerProcess> {
  const folder = await temporaryFolder();
  const settings = {
    TIDEMARK_PORT: '0',
    TIDEMARK_DATA: folder.path,
    TIDEMARK_ADMIN_PASSWORD: ADMIN_PASSWORD,
    TIDEMARK_LOG_LEVEL: 'error',
    ...env,
  };
  const child = spawn(process.execPath, [MAIN, 'serve'], {
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const stop = async () => {
    if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'exit');
    await folder.remove();
  };
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([once(lines, 'line'), once(child, 'exit').then(() => [''])]);
  const [url] = /http:\S+/.exec(String(line)) ?? [];
  if (url !== undefined) return { url, adminPassword: ADMIN_PASSWORD, stop };
  await stop();
  throw new Error(`the server did not start; has ${MAIN} been built?`);
}
