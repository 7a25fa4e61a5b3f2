import { createServer, type ServerResponse } from 'node:http';
import { fileURLToPath } from 'node:url';
import { type ChildServer, listenForParent, startChildServer } from './child-server.ts';

const BYTES_VARIABLE = 'BENCH_BYTES';

/** node:http alone, in a process of its own: a POST sends the same bytes to everybody who listens. */
export function startBareBroadcast(bytes: string): Promise<ChildServer> {
  return startChildServer(fileURLToPath(import.meta.url), { [BYTES_VARIABLE]: bytes });
}

/** In the child. */
function serve(): void {
  const bytes = Buffer.from(process.env[BYTES_VARIABLE] ?? '');
  const listening = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.method === 'POST') {
      for (const one of listening) one.write(bytes);
      response.end();
      return;
    }
    response.shouldKeepAlive = false;
    response.removeHeader('transfer-encoding');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('event: ready\ndata: {}\n\n');
    listening.add(response);
    response.on('close', () => listening.delete(response));
  });
  listenForParent(server);
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) serve();
