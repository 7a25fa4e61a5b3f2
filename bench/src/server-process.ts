import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { fastify } from 'fastify';

/** A server in a process of its own, so that what it uses is not mixed up with what those use who call it. */
export interface ServerProcess {
  readonly url: string;
  /** What all its threads have used until now. */
  cpuMs(): Promise<number>;
  /** Resident, after the garbage has been collected. */
  memoryBytes(): Promise<number>;
  stop(): Promise<void>;
}

/** The server itself; `settings` are environment variables. */
export function startServerProcess(settings: Readonly<Record<string, string>>): Promise<ServerProcess> {
  return startProcess({ ...settings, BENCH_SERVES: 'tidemark' });
}

/**
 * What the same HTTP stack costs without a product: the files of the folder, read into memory at the start, are sent as
 * they are, `0` to the first who posts to `/pages/0`, all of them one after the other to whoever gets `/stream`.
 */
export function startBareProcess(folder: string): Promise<ServerProcess> {
  return startProcess({ BENCH_SERVES: folder });
}

async function startProcess(settings: Readonly<Record<string, string>>): Promise<ServerProcess> {
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

interface Serving {
  readonly url: string;
  close(): Promise<unknown>;
}

async function serveTidemark(): Promise<Serving> {
  const { compose, readConfig } = await import('@tidemark/server');
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  return compose(readConfig(process.env), silent);
}

async function serveBare(folder: string): Promise<Serving> {
  const names = readdirSync(folder).sort((left, right) => Number(left) - Number(right));
  const pages = names.map((name) => readFileSync(join(folder, name)));
  const app = fastify();
  app.post<{ Params: { page: string } }>('/pages/:page', async ({ params }, reply) =>
    reply.type('application/json; charset=utf-8').send(pages[Number(params.page)]),
  );
  app.get('/stream', async (_request, reply) =>
    reply.type('application/x-ndjson; charset=utf-8').send(Readable.from(pages, { objectMode: false })),
  );
  const url = await app.listen({ host: '127.0.0.1', port: 0 });
  return { url, close: () => app.close() };
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
async function serve(what: string): Promise<void> {
  const server = await (what === 'tidemark' ? serveTidemark() : serveBare(what));
  process.on('message', (message) => {
    if (message === 'stop') void server.close().then(() => process.disconnect());
    if (message === 'cpu') process.send?.(cpuMs());
    if (message === 'memory') process.send?.(memoryBytes());
  });
  process.send?.({ url: server.url });
}

const { BENCH_SERVES } = process.env;
if (process.argv[1] === fileURLToPath(import.meta.url) && BENCH_SERVES !== undefined) await serve(BENCH_SERVES);
