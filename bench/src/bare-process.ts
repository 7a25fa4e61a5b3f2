import { fileURLToPath } from 'node:url';
import { fastify } from 'fastify';
import { type ChildServer, serveParent, startChildServer } from './child-server.ts';

const BODY_VARIABLE = 'BENCH_BODY';
export const BARE_PATH = '/bare';

/** The framework alone, in a process of its own: one route that sends the same bytes to everybody. */
export function startBareProcess(body: string): Promise<ChildServer> {
  return startChildServer(fileURLToPath(import.meta.url), { [BODY_VARIABLE]: body });
}

/** In the child. */
async function serve(): Promise<void> {
  const bytes = Buffer.from(process.env[BODY_VARIABLE] ?? '');
  const bare = fastify();
  bare.get(BARE_PATH, async (_request, reply) => reply.type('application/json; charset=utf-8').send(bytes));
  const url = await bare.listen({ host: '127.0.0.1', port: 0 });
  serveParent(url, () => bare.close());
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) await serve();
