import { statfs } from 'node:fs/promises';
import type { EngineDescription, Jobs } from '@tidemark/core';
import type { FastifyInstance } from 'fastify';
import { authenticate } from '../auth/authenticate.ts';
import type { BackendHealth } from '../backend/http-backend.ts';
import type { LoadGauge } from '../http/load-gauge.ts';
import type { RouteContext } from '../http/route.ts';
import { templateOf } from '../http/watch-answers.ts';
import { FREE_DISK_BYTES_MIN, QUEUES_LOOKED_AT_MAX } from '../limits.ts';
import type { BreakerView } from '../outbound/circuit-breaker.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import type { RequestCount } from '../telemetry/request-counter.ts';
import type { SecondsTally } from '../telemetry/seconds-histogram.ts';
import { readVersion } from '../version.ts';
import { serviceSchemas } from './service-schemas.ts';

export interface ServiceOptions {
  /** Null: the data is on another machine. */
  readonly dataFolder: string | null;
  readonly isMetricsPublic: boolean;
  /** Returns false when the server is stopping. */
  readonly isReady: () => boolean;
  readonly gauge?: Pick<LoadGauge, 'overload'>;
  /** Returns the metrics as text. Absent: those of this process only. */
  readonly scrape?: () => Promise<string>;
}

/** Adds the routes for health, readiness, version and metrics. */
export function addServiceRoutes(app: FastifyInstance, context: RouteContext, options: ServiceOptions): void {
  const version = { name: 'tidemark', version: readVersion() };
  app.get('/healthz', { schema: serviceSchemas.health }, () => ({ status: 'ok' }));
  app.get('/version', { schema: serviceSchemas.version }, () => version);
  app.get('/readyz', { schema: serviceSchemas.readiness }, async (request, reply) => {
    const checks = await readiness(context, options);
    const isReady = checks.every(({ ok }) => ok);
    reply.code(isReady ? 200 : 503).header('cache-control', 'no-store');
    if (!isReady) reply.header('retry-after', '1');
    const status = isReady ? 'ready' : options.isReady() ? 'not_ready' : 'draining';
    const connectors = await connectorsOf(context);
    const degraded = connectors.some(({ faults }) => faults.length > 0);
    const mayKnowMore = options.isMetricsPublic || (await isAdmitted(context, request));
    if (!mayKnowMore) return { status, degraded };
    const { durability } = context.tidemark.store.engine;
    const backend = await context.backend.health();
    const sign_in = signInOrder(context, backend);
    return { status, degraded, durability, checks, connectors, backend: backendOf(backend), sign_in };
  });
  addMetrics(app, context, options);
}

interface Check {
  readonly name: string;
  readonly ok: boolean;
  readonly detail: string;
}

async function readiness(
  context: RouteContext,
  { dataFolder, isReady, gauge }: ServiceOptions,
): Promise<readonly Check[]> {
  const { tidemark } = context;
  const overload = gauge?.overload() ?? null;
  const load: Check = { name: 'load', ok: overload === null, detail: overload ?? 'keeps up' };
  const running: Check = {
    name: 'running',
    ok: isReady(),
    detail: isReady() ? 'takes requests' : 'is draining',
  };
  const store = await tidemark.store.addStats([]).then(
    (): Check => ({ name: 'store', ok: true, detail: 'writes' }),
    (): Check => ({ name: 'store', ok: false, detail: 'does not write' }),
  );
  const disk = dataFolder === null ? [] : [await checkDisk(dataFolder)];
  return [running, load, store, ...disk, await jobsCheck(context.jobs), ...engineChecks(tidemark.store.engine)];
}

/** Reports the setup of the store and its warnings, which do not affect readiness. */
function engineChecks({ details, warnings = [] }: EngineDescription): readonly Check[] {
  const setup = Object.entries(details ?? {}).map(([name, value]) => `${name} ${value}`);
  return [
    ...(setup.length === 0 ? [] : [{ name: 'engine', ok: true, detail: setup.join(', ') }]),
    ...warnings.map((detail) => ({ name: 'warning', ok: true, detail })),
  ];
}

function checkDisk(folder: string): Promise<Check> {
  return statfs(folder).then(
    ({ bavail, bsize }) => diskCheck(bavail * bsize),
    (): Check => ({ name: 'disk', ok: false, detail: 'cannot be read' }),
  );
}

/** Reports the lag of jobs, which does not affect readiness: refusing requests would not help to catch up. */
async function jobsCheck(jobs: Jobs): Promise<Check> {
  try {
    const queues = (await jobs.queues()).slice(0, QUEUES_LOOKED_AT_MAX);
    const views = await Promise.all(queues.map((queue) => jobs.describe(queue)));
    const lagMs = Math.max(0, ...views.filter(({ isPaused }) => !isPaused).map((view) => view.lagMs));
    return { name: 'jobs', ok: true, detail: `the oldest due job has waited ${lagMs} ms` };
  } catch {
    return { name: 'jobs', ok: false, detail: 'cannot be read' };
  }
}

/**
 * Reports the state of the backend, which does not affect readiness: without a backend the server still serves its
 * data.
 */
function backendOf({ isSet, kinds, loginsCheckedBy, ...worst }: BackendHealth): object {
  if (!isSet) return { state: 'unset', failures: 0, until: null };
  const calls = Object.fromEntries(Object.entries(kinds).map(([kind, view]) => [kind, breakerOf(view)]));
  return { ...breakerOf(worst), calls, logins: loginsCheckedBy };
}

/**
 * Reports the connectors, which do not affect readiness: they are those of all servers, so all would be taken out of
 * rotation at once, and devices could not even send what they have changed.
 */
async function connectorsOf({ tidemark }: RouteContext) {
  // A store that does not answer is a check of its own.
  const views = await tidemark.connectors.list().catch(() => []);
  return views.map(({ name, state, lag_ms, faults }) => ({ name, state, lag_ms, faults }));
}

/** Returns who can confirm a sign-in of a device, in the order of docs/guides/sign-in.md. */
function signInOrder({ providers }: RouteContext, { isSet, loginsCheckedBy }: BackendHealth): readonly string[] {
  const isBackendAsked = isSet && loginsCheckedBy !== 'own_passwords';
  const arePasswordsUsed = !isSet || loginsCheckedBy !== 'backend';
  return [
    ...providers.names.map((name) => `issuer ${name}`),
    ...(isBackendAsked ? ['backend'] : []),
    ...(arePasswordsUsed ? ['own_passwords'] : []),
  ];
}

function breakerOf({ state, failures, untilMs }: BreakerView): object {
  return { state, failures, until: untilMs === null ? null : new Date(untilMs).toISOString() };
}

function diskCheck(freeBytes: number): Check {
  return { name: 'disk', ok: freeBytes >= FREE_DISK_BYTES_MIN, detail: `${(freeBytes / 1e9).toFixed(1)} GB free` };
}

function addMetrics(app: FastifyInstance, context: RouteContext, { isMetricsPublic, scrape }: ServiceOptions): void {
  const { metrics, tidemark, nowMs } = context;
  const read = scrape ?? (() => metrics.text());
  const meters = new Meters(metrics);
  app.onEnded(({ request, status, isAnswered, elapsedMs }) => {
    if (!isAnswered) return;
    const { url, isStream } = templateOf(request);
    if (isStream) return;
    const { metric, tally, count } = meters.of(request.method, url, status);
    tally.observe(elapsedMs / 1_000);
    count.value++;
    if (status !== 405 && url !== undefined) tidemark.stats.record(metric, elapsedMs, nowMs());
  });
  app.get('/metrics', { schema: serviceSchemas.metrics }, async (request, reply) => {
    if (!isMetricsPublic) await authenticate(tidemark, request, 'read', nowMs());
    return reply.type(metrics.contentType).send(Buffer.from(await read()));
  });
}

interface Meter {
  /** The name of the statistics. */
  readonly metric: string;
  /** By class of status: `2xx`. */
  readonly tally: SecondsTally;
  /** By exact status. */
  readonly count: RequestCount;
}

/**
 * The meters of requests, created once per route and status. Names consist of route templates, so that strangers
 * cannot grow the set.
 */
class Meters {
  readonly #metrics: Metrics;
  readonly #meters = new Map<string | undefined, Map<string, Map<number, Meter>>>();
  readonly #tallies = new Map<string, SecondsTally>();

  constructor(metrics: Metrics) {
    this.#metrics = metrics;
  }

  of(method: string, url: string | undefined, statusCode: number): Meter {
    return this.#meters.get(url)?.get(method)?.get(statusCode) ?? this.#begin(method, url, statusCode);
  }

  #begin(method: string, url: string | undefined, statusCode: number): Meter {
    const route = url ?? 'unknown';
    const metric = `http:${method}:${route}`;
    const tally = this.#tallyOf(method, route, `${Math.floor(statusCode / 100)}xx`);
    const count = this.#metrics.requests.countOf({ method, route, status: String(statusCode) });
    const ofRoute = this.#meters.get(url) ?? new Map<string, Map<number, Meter>>();
    const ofMethod = ofRoute.get(method) ?? new Map<number, Meter>();
    this.#meters.set(url, ofRoute.set(method, ofMethod));
    const meter = { metric, tally, count };
    ofMethod.set(statusCode, meter);
    return meter;
  }

  #tallyOf(method: string, route: string, status: string): SecondsTally {
    const key = `${method} ${status} ${route}`;
    const tally = this.#tallies.get(key) ?? this.#metrics.requests.tallyOf({ method, route, status });
    this.#tallies.set(key, tally);
    return tally;
  }
}

async function isAdmitted(context: RouteContext, request: Parameters<typeof authenticate>[1]): Promise<boolean> {
  return authenticate(context.tidemark, request, 'read', context.nowMs()).then(
    () => true,
    () => false,
  );
}
