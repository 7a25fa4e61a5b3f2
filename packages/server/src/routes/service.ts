import { statfs } from 'node:fs/promises';
import type { Tidemark } from '@tidemark/core';
import type { FastifyInstance } from 'fastify';
import { authenticate } from '../auth/authenticate.ts';
import type { Desk } from '../http/route.ts';
import { readVersion } from '../version.ts';
import { serviceSchemas } from './service-schemas.ts';

export interface ServiceOptions {
  readonly dataFolder: string;
  readonly isMetricsPublic: boolean;
  /** False once the server has been told to stop. */
  readonly isReady: () => boolean;
}

/** Below this the server says that it is not ready: the next write may be refused. */
const FREE_BYTES_MIN = 64 * 2 ** 20;

/** What says that the server is there, which one, and how it is. */
export function addServiceRoutes(app: FastifyInstance, desk: Desk, options: ServiceOptions): void {
  const version = { name: 'tidemark', version: readVersion() };
  app.get('/healthz', { schema: serviceSchemas.health }, () => ({ status: 'ok' }));
  app.get('/version', { schema: serviceSchemas.version }, () => version);
  app.get('/readyz', { schema: serviceSchemas.readiness }, async (request, reply) => {
    const checks = await readiness(desk.tidemark, options);
    const isReady = checks.every(({ ok }) => ok);
    reply.code(isReady ? 200 : 503).header('cache-control', 'no-store');
    if (!isReady) reply.header('retry-after', '1');
    const status = isReady ? 'ready' : 'not_ready';
    const mayKnowMore = options.isMetricsPublic || (await isAdmitted(desk, request));
    if (!mayKnowMore) return { status };
    const { durability } = desk.tidemark.store.engine;
    return { status, durability, checks, backend: await backendOf(desk) };
  });
  addMetrics(app, desk, options);
}

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

async function readiness(tidemark: Tidemark, { dataFolder, isReady }: ServiceOptions): Promise<readonly Check[]> {
  const running: Check = { name: 'running', ok: isReady(), detail: isReady() ? 'takes requests' : 'is stopping' };
  const store = await tidemark.store.addStats([]).then(
    (): Check => ({ name: 'store', ok: true, detail: 'writes' }),
    (): Check => ({ name: 'store', ok: false, detail: 'does not write' }),
  );
  const disk = await statfs(dataFolder).then(
    ({ bavail, bsize }) => diskCheck(bavail * bsize),
    (): Check => ({ name: 'disk', ok: false, detail: 'cannot be looked at' }),
  );
  return [running, store, disk];
}

/** A server whose backend is down still serves what it has, so this is told and decides nothing. */
async function backendOf({ backend }: Desk): Promise<object> {
  const { isSet, state, failures, untilMs } = await backend.health();
  if (!isSet) return { state: 'unset', failures: 0, until: null };
  return { state, failures, until: untilMs === null ? null : new Date(untilMs).toISOString() };
}

function diskCheck(freeBytes: number): Check {
  return { name: 'disk', ok: freeBytes >= FREE_BYTES_MIN, detail: `${Math.floor(freeBytes / 2 ** 20)} MiB free` };
}

function addMetrics(app: FastifyInstance, desk: Desk, { isMetricsPublic }: ServiceOptions): void {
  const { metrics, tidemark, nowMs } = desk;
  app.addHook('onResponse', (request, reply, done) => {
    const { url, config } = request.routeOptions;
    if (config?.isStream === true) return done();
    // Labels are route templates, so that strangers cannot grow the set.
    const route = url ?? 'unknown';
    const status = `${Math.floor(reply.statusCode / 100)}xx`;
    metrics.request({ method: request.method, route, status }, reply.elapsedTime / 1_000);
    if (reply.statusCode !== 405 && url !== undefined) {
      tidemark.stats.record(`http:${request.method}:${route}`, reply.elapsedTime, nowMs());
    }
    done();
  });
  app.get('/metrics', { schema: serviceSchemas.metrics }, async (request, reply) => {
    if (!isMetricsPublic) await authenticate(tidemark, request, 'read', nowMs());
    return reply.type(metrics.contentType).send(Buffer.from(await metrics.text()));
  });
}

async function isAdmitted(desk: Desk, request: Parameters<typeof authenticate>[1]): Promise<boolean> {
  return authenticate(desk.tidemark, request, 'read', desk.nowMs()).then(
    () => true,
    () => false,
  );
}
