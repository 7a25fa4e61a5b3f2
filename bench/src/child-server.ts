import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/** A server in a process of its own, so that what it uses is not mixed up with what those use who call it. */
export interface ChildServer {
  readonly url: string;
  /** What all its threads have used until now. */
  cpuMs(): Promise<number>;
  /** Resident, after the garbage has been collected. */
  memoryBytes(): Promise<number>;
  stop(): Promise<void>;
}

/** `file` is a module that calls `serveParent`; `settings` are environment variables. */
export async function startChildServer(file: string, settings: Readonly<Record<string, string>>): Promise<ChildServer> {
  const child = fork(file, { env: { ...process.env, ...settings } });
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

/** In the child: says where the server is, and answers what the parent asks. */
export function serveParent(url: string, close: () => Promise<unknown>): void {
  process.on('message', (message) => {
    if (message === 'stop') void close().then(() => process.disconnect());
    if (message === 'cpu') process.send?.(cpuMs());
    if (message === 'memory') process.send?.(memoryBytes());
  });
  process.send?.({ url });
}

/** In the child: the same for a server of node:http, on a free port. */
export function listenForParent(server: Server): void {
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  server.listen(0, '127.0.0.1', () => {
    serveParent(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, close);
  });
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
