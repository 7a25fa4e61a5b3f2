import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

export const PAGES_VARIABLE = 'BENCH_PAGES';

/** A server in a process of its own, so that what it uses is not mixed up with what those use who call it. */
export interface ServerProcess {
  readonly url: string;
  /** What all its threads have used until now. */
  cpuMs(): Promise<number>;
  /** Resident, after the garbage has been collected. */
  memoryBytes(): Promise<number>;
  stop(): Promise<void>;
}

/** `settings` are environment variables; `PAGES_VARIABLE` among them names the folder of `bareRoutes`. */
export async function startServerProcess(settings: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const child = fork(fileURLToPath(import.meta.url), { env: { ...process.env, ...settings } });
  child.setMaxListeners(0);
  const { url } = (await answerOf(child)) as { readonly url: string };
  const ask = async (what: 'cpu' | 'memory') => {
    child.send(what);
    return (await answerOf(child)) as number;
  };
  return {
    url,
    cpuMs: () => ask('cpu'),
    memoryBytes: () => ask('memory'),
    async stop() {
      const exited = once(child, 'exit');
      child.send('stop');
      await exited;
    },
  };
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const over = new AbortController();
  const exited = once(child, 'exit', { signal: over.signal }).then(([code]) => {
    throw new Error(`the server ended with ${code}`);
  });
  try {
    const [message] = await Promise.race([once(child, 'message', { signal: over.signal }), exited]);
    return message;
  } finally {
    exited.catch(() => {});
    over.abort();
  }
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

function memoryBytes(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  collectGarbage();
  collectGarbage();
  return process.memoryUsage().rss;
}

/** In the child. */
async function serve(): Promise<void> {
  const { compose, readConfig } = await import('@tidemark/server');
  const { bareRoutes } = await import('./bare-routes.ts');
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const { [PAGES_VARIABLE]: folder = '', ...env } = process.env;
  const server = await compose(readConfig(env), silent, bareRoutes(folder));
  process.on('message', (message) => {
    if (message === 'stop') void server.close().then(() => process.disconnect());
    if (message === 'cpu') process.send?.(cpuMs());
    if (message === 'memory') process.send?.(memoryBytes());
  });
  process.send?.({ url: server.url });
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) await serve();
