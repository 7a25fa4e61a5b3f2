import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname } from 'node:path';
import type { Files } from './build-page.ts';

/** `POST /demo/kill` → what answers it. */
export type Routes = Readonly<Record<string, (request: IncomingMessage, response: ServerResponse) => Promise<void>>>;

export interface WebServer {
  readonly url: string;
  /** The origins under which a browser on this machine may show the page. */
  readonly origins: readonly string[];
  /** Requests that came before wait for this. */
  serve(files: Files, routes: Routes, tidemarkUrl: string): void;
  close(): Promise<void>;
}

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};

const CONNECTIONS_MAX = 200;

type Listener = (request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Serves the page and the routes of the demo to this machine alone. */
export async function openWebServer(port: number): Promise<WebServer> {
  let resolve: (listener: Listener) => void = () => undefined;
  const listener = new Promise<Listener>((fulfil) => {
    resolve = fulfil;
  });
  const server = createServer(async (request, response) => {
    await (await listener)(request, response);
  });
  server.maxConnections = CONNECTIONS_MAX;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const origins = ['127.0.0.1', 'localhost'].map((host) => `http://${host}:${(server.address() as AddressInfo).port}`);
  return {
    url: origins[0] ?? '',
    origins,
    serve: (files, routes, tidemarkUrl) => resolve(listenerOf({ files, routes, origins, tidemarkUrl })),
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

interface Served {
  readonly files: Files;
  readonly routes: Routes;
  readonly origins: readonly string[];
  readonly tidemarkUrl: string;
}

function listenerOf({ files, routes, origins, tidemarkUrl }: Served): Listener {
  const policy = `default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob:; connect-src 'self' ${tidemarkUrl}; base-uri 'none'; form-action 'self'; frame-ancestors 'none'`;
  return async (request, response) => {
    const { pathname } = new URL(request.url ?? '/', origins[0]);
    if (!isFromOwnPage(request, origins)) return refuse(response, 403, 'only the page of the demo may ask for this');
    const route = routes[`${request.method} ${pathname}`];
    if (route !== undefined) return answer(route, request, response);
    const path = pathname === '/' ? '/index.html' : pathname;
    const file = request.method === 'GET' ? files.get(path) : undefined;
    if (file === undefined) return refuse(response, 404, `there is no ${pathname}`);
    response.writeHead(200, {
      'content-type': TYPES[extname(path)] ?? 'application/octet-stream',
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
    });
    response.end(file);
  };
}

/**
 * Another web page in the same browser could send requests here, too. It cannot choose its `Origin`, and a name that its
 * owner lets resolve to this machine shows up as `Host`.
 */
function isFromOwnPage({ method, headers }: IncomingMessage, origins: readonly string[]): boolean {
  if (!origins.includes(`http://${headers.host}`)) return false;
  const { origin } = headers;
  return origin === undefined ? method === 'GET' : origins.includes(origin);
}

async function answer(route: Routes[string], request: IncomingMessage, response: ServerResponse): Promise<void> {
  try {
    await route?.(request, response);
  } catch (error) {
    console.error('demo: a request could not be answered', error);
    if (!response.headersSent) refuse(response, 500, 'something went wrong, see the terminal');
  }
}

function refuse(response: ServerResponse, status: number, error: string): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
}
