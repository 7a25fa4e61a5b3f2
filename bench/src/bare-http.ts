import { createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import { type ChildServer, listenForParent, startChildServer } from './child-server.ts';

const BODY_VARIABLE = 'BENCH_BODY';

/** node:http alone, in a process of its own: it reads the body of each request and sends the same bytes to everybody. */
export function startBareHttp(body: string): Promise<ChildServer> {
  return startChildServer(fileURLToPath(import.meta.url), { [BODY_VARIABLE]: body });
}

/** In the child. */
function serve(): void {
  const bytes = Buffer.from(process.env[BODY_VARIABLE] ?? '');
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': bytes.length };
  const server = createServer((request, response) => {
    request.on('data', () => {});
    request.on('end', () => response.writeHead(200, headers).end(bytes));
  });
  listenForParent(server);
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) serve();
