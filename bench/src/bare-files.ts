import { createReadStream, createWriteStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { fileURLToPath } from 'node:url';
import { type ChildServer, listenForParent, startChildServer } from './child-server.ts';

const FOLDER_VARIABLE = 'BENCH_FOLDER';

/** node:http alone, in a process of its own: a PUT writes its body to a file that is durable when it is answered, and a GET sends it. */
export function startBareFiles(folder: string): Promise<ChildServer> {
  return startChildServer(fileURLToPath(import.meta.url), { [FOLDER_VARIABLE]: folder });
}

async function answer(request: IncomingMessage, response: ServerResponse, file: string): Promise<void> {
  if (request.method === 'PUT') {
    await pipeline(request, createWriteStream(file, { flush: true }));
    response.writeHead(200).end();
    return;
  }
  const { size } = await stat(file);
  response.writeHead(200, { 'content-length': size });
  await pipeline(createReadStream(file), response);
}

/** In the child. */
function serve(): void {
  const file = join(process.env[FOLDER_VARIABLE] ?? '', 'file');
  const server = createServer((request, response) => {
    answer(request, response, file).catch((error: unknown) => response.destroy(error as Error));
  });
  listenForParent(server);
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) serve();
