import { createServer, request as forward } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface LoopbackProxy {
  readonly port: number;
  /** Cuts all connections and takes no new ones, or takes them again. */
  setOffline(isOffline: boolean): void;
  close(): void;
}

/** An HTTP proxy that forwards to this machine only. TLS is refused. */
export async function startLoopbackProxy(): Promise<LoopbackProxy> {
  let isOffline = false;
  const server = createServer((request, response) => {
    const { hostname, port, pathname, search } = new URL(request.url ?? '', 'http://elsewhere');
    if (hostname !== 'localhost' && hostname !== '127.0.0.1') {
      response.writeHead(403).end();
      return;
    }
    const forwarded = forward({
      host: '127.0.0.1',
      port,
      path: pathname + search,
      method: request.method,
      headers: { ...request.headers, connection: 'close' },
      agent: false,
    });
    forwarded.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.on('error', () => response.destroy()).pipe(response);
    });
    forwarded.on('error', () => response.destroy());
    // The server notices when the browser hangs up, for example when a tab with an event stream is closed.
    response.on('close', () => forwarded.destroy());
    request.pipe(forwarded);
  });
  server.on('connection', (socket) => {
    if (isOffline) socket.destroy();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    setOffline(next) {
      isOffline = next;
      if (isOffline) server.closeAllConnections();
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
