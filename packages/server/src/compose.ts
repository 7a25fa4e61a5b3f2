import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { type Log, Tidemark } from '@tidemark/core';
import { openEmbeddedStore } from '@tidemark/store-embedded';
import type { FastifyInstance } from 'fastify';
import { LoginLimiter } from './auth/login-limiter.ts';
import { startChores } from './chores.ts';
import type { Config } from './config/config.ts';
import { addRoute } from './http/add-route.ts';
import { buildHttp } from './http/app.ts';
import { addDescription } from './http/description.ts';
import type { Desk } from './http/route.ts';
import { openPasswords } from './passwords.ts';
import { allRoutes } from './routes/all-routes.ts';
import { addServiceRoutes } from './routes/service.ts';
import { readVersion } from './version.ts';

/** A server that answers. */
export interface Running {
  readonly url: string;
  readonly adminLogin: string;
  /** The password of the administrator, when it was made just now: it is shown once and kept nowhere. */
  readonly generatedPassword: string | null;
  /** Takes no new requests, lets those under way finish within the grace, then cuts them off. */
  close(): Promise<void>;
}

/** Puts the server together: the only place where engines meet the core. */
export async function compose(config: Config, log: Log): Promise<Running> {
  const store = await openEmbeddedStore({ folder: config.dataFolder });
  const clock = { nowMs: () => Date.now() };
  const tidemark = new Tidemark({
    store,
    clock,
    random: { bytes: (count) => randomBytes(count) },
    passwords: await openPasswords(),
    pace: { turn: () => new Promise((resolve) => setImmediate(resolve)) },
    log,
    limits: config.limits,
    isResetAllowed: config.isResetAllowed,
    version: readVersion(),
    urlRules: { ownOrigins: ownOrigins(config) },
  });
  const bootstrapped = await tidemark.system.bootstrap({
    adminLogin: config.adminLogin,
    adminPassword: config.adminPassword,
    configuredSources: config.sources,
    licensee: config.licensee,
  });
  let isStopping = false;
  const desk: Desk = {
    tidemark,
    limiter: new LoginLimiter(clock),
    nowMs: clock.nowMs,
    tokenTtlMs: config.tokenTtlS * 1_000,
  };
  const app = await buildHttp({ bodyBytesMax: config.bodyBytesMax, trustProxy: config.trustProxy }, async (http) => {
    await addDescription(http);
    const { dataFolder, areMetricsPublic } = config;
    addServiceRoutes(http, desk, { dataFolder, isMetricsPublic: areMetricsPublic, isReady: () => !isStopping });
    for (const route of allRoutes) addRoute(http, desk, route);
  });
  const chores = startChores(tidemark, log, config);
  await listen(app, config, store);
  return {
    url: urlOf(app, config.host),
    adminLogin: bootstrapped.adminLogin,
    generatedPassword: bootstrapped.generatedPassword,
    async close() {
      isStopping = true;
      await closeWithin(app, config.shutdownGraceMs);
      await chores.stop();
      await store.close();
    },
  };
}

/** A port that cannot be had must not leave the store open. */
async function listen(app: FastifyInstance, { host, port }: Config, store: { close(): Promise<void> }): Promise<void> {
  try {
    await app.listen({ host, port });
  } catch (error) {
    await store.close();
    throw error;
  }
}

/** The backend must not be this server itself: calls would go round in circles. */
function ownOrigins({ host, port, publicUrl }: Config): readonly string[] {
  const local = ['localhost', '127.0.0.1', '[::1]', host.includes(':') ? `[${host}]` : host];
  return [...local.map((name) => `http://${name}:${port}`), ...(publicUrl === null ? [] : [new URL(publicUrl).origin])];
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
