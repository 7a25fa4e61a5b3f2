import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handler } from '../handler/create-handler.ts';

export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

/** What body parsers leave behind on a request they have read. */
interface ReadMessage extends IncomingMessage {
  readonly rawBody?: unknown;
  readonly body?: unknown;
}

/** The handler as a listener of `node:http`: `createServer(nodeListener(handler))`. */
export function nodeListener(handler: Handler): NodeListener {
  return (incoming, outgoing) => {
    answer(handler, incoming, outgoing).catch(() => outgoing.destroy());
  };
}

async function answer(handler: Handler, incoming: ReadMessage, outgoing: ServerResponse): Promise<void> {
  const gone = new AbortController();
  outgoing.once('close', () => {
    if (!outgoing.writableFinished) gone.abort();
  });
  const body = bodyOf(incoming);
  if (body === 'lost') return tellLost(outgoing);
  const response = await handler(requestOf(incoming, body, gone.signal));
  await send(response, outgoing);
}

function requestOf(incoming: IncomingMessage, body: RequestBody, signal: AbortSignal): Request {
  const headers = new Headers();
  for (const [name, value] of Object.entries(incoming.headers)) {
    for (const one of [value].flat()) if (one !== undefined && isForFetch(name)) headers.append(name, one);
  }
  // The host plays no part: only the path is looked at, and what a stranger calls us is not believed.
  const url = new URL(pathOf(incoming), 'http://backend.invalid');
  // Whatever is no POST is refused in the same words, and fetch cannot say all of it.
  const isPost = incoming.method === 'POST';
  const init = isPost ? { method: 'POST', body, duplex: 'half' } : { method: 'GET' };
  return new Request(url, { ...init, headers, signal } as RequestInit);
}

type RequestBody = AsyncIterable<Uint8Array> | Uint8Array | string;

/** Frameworks shorten `url` to what lies behind the mount; the last part of the path is the same in both. */
function pathOf({ url = '/' }: IncomingMessage): string {
  return url.startsWith('/') ? `/${url.replace(/^\/+/, '')}` : '/';
}

/** HTTP/2 brings method and path along as headers of a kind that fetch does not know. */
function isForFetch(name: string): boolean {
  return !name.startsWith(':');
}

/** The signature covers the bytes as they were sent, so what a parser made of them is of no use. */
function bodyOf(incoming: ReadMessage): RequestBody | 'lost' {
  const { rawBody, body } = incoming;
  for (const kept of [rawBody, body]) {
    if (kept instanceof Uint8Array || typeof kept === 'string') return kept;
  }
  if (incoming.readableDidRead || incoming.readableEnded) return 'lost';
  return incoming as AsyncIterable<Uint8Array>;
}

function tellLost(outgoing: ServerResponse): void {
  console.error(
    'tidemark backend: a body parser has read the call before it could be verified; mount the handler before the ' +
      'parser, or let the parser keep the bytes as request.rawBody',
  );
  outgoing.writeHead(500, { 'content-type': 'application/problem+json' });
  outgoing.end(JSON.stringify({ title: 'Something is wrong in the backend', status: 500, code: 'internal' }));
}

/** Passes a response on as fast as the other side reads it. What breaks off here breaks off there. */
async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  const reader = response.body?.getReader();
  if (reader === undefined) {
    outgoing.end();
    return;
  }
  try {
    for (;;) {
      const { value, done } = await reader.read();
      if (done) break;
      if (outgoing.destroyed) throw new Error('nobody is there to read the answer');
      if (!outgoing.write(value)) await drained(outgoing);
    }
    outgoing.end();
  } catch (error) {
    outgoing.destroy();
    await reader.cancel(error).catch(() => undefined);
  }
}

function drained(outgoing: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const go = () => {
      outgoing.off('drain', go).off('close', go);
      resolve();
    };
    outgoing.on('drain', go).on('close', go);
  });
}
