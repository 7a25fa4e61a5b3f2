import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** What a process has used up until now. */
export interface Usage {
  /** Resident, after the garbage has been collected. */
  readonly memoryBytes: number;
  /** Of all its threads. */
  readonly cpuMs: number;
}

/** A server in a process of its own, so that what it uses is not mixed up with what those use who call it. */
export interface ServerProcess {
  readonly url: string;
  usage(): Promise<Usage>;
  stop(): Promise<void>;
}

/** `settings` are environment variables. */
export async function startServerProcess(settings: Readonly<Record<string, string>>): Promise<ServerProcess> {
  const child = fork(fileURLToPath(import.meta.url), { env: { ...process.env, ...settings } });
  const { url } = (await answerOf(child)) as { readonly url: string };
  return {
    url,
    async usage() {
      child.send('usage');
      return (await answerOf(child)) as Usage;
    },
    async stop() {
      const exited = once(child, 'exit');
      child.send('stop');
      await exited;
    },
  };
}

async function answerOf(child: ChildProcess): Promise<unknown> {
  const exited = once(child, 'exit').then(([code]) => {
    throw new Error(`the server ended with ${code}`);
  });
  const [message] = await Promise.race([once(child, 'message'), exited]);
  return message;
}

/** In the child. */
async function serve(): Promise<void> {
  const { compose, readConfig } = await import('@tidemark/server');
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const server = await compose(readConfig(process.env), silent);
  setFlagsFromString('--expose-gc');
  const collectGarbage = runInNewContext('gc') as () => void;
  process.on('message', (message) => {
    if (message === 'stop') void server.close().then(() => process.disconnect());
    if (message !== 'usage') return;
    const { user, system } = process.cpuUsage();
    collectGarbage();
    collectGarbage();
    const usage: Usage = { memoryBytes: process.memoryUsage().rss, cpuMs: (user + system) / 1_000 };
    process.send?.(usage);
  });
  process.send?.({ url: server.url });
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) await serve();
