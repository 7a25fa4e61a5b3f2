import { fileURLToPath } from 'node:url';
import { type ChildServer, serveParent, startChildServer } from './child-server.ts';

export const PAGES_VARIABLE = 'BENCH_PAGES';

/** Tidemark in a process of its own. `PAGES_VARIABLE` among the settings names the folder of `bareRoutes`. */
export function startServerProcess(settings: Readonly<Record<string, string>>): Promise<ChildServer> {
  return startChildServer(fileURLToPath(import.meta.url), settings);
}

/** In the child. */
async function serve(): Promise<void> {
  const { compose, readConfig } = await import('@tidemark/server');
  const { bareRoutes } = await import('./bare-routes.ts');
  const silent = { debug() {}, info() {}, warn() {}, error() {} };
  const { [PAGES_VARIABLE]: folder = '', ...env } = process.env;
  const server = await compose(readConfig(env), silent, { extraRoutes: bareRoutes(folder) });
  serveParent(server.url, () => server.close());
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) await serve();
