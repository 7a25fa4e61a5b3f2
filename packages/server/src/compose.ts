import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import type { Config } from './config.ts';
import { buildHttp } from './http.ts';

/** A server that answers. */
export interface Running {
  readonly url: string;
  /** Takes no new requests, lets those under way finish within the grace, then cuts them off. */
  close(): Promise<void>;
}

/** Puts the server together: the only place where engines meet the core. So far there is only the edge. */
export async function compose(config: Config): Promise<Running> {
  const app = buildHttp();
  await app.listen({ host: config.host, port: config.port });
  return { url: urlOf(app, config.host), close: () => closeWithin(app, config.shutdownGraceMs) };
}

function urlOf(app: FastifyInstance, host: string): string {
  const { port } = app.server.address() as AddressInfo;
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`;
}

async function closeWithin(app: FastifyInstance, graceMs: number): Promise<void> {
  const cutOff = setTimeout(() => app.server.closeAllConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cutOff);
  }
}
