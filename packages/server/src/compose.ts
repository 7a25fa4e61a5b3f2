import { randomBytes } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { BusListener, Log, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance } from 'fastify';
import { SourceModules } from './app/source-modules.ts';
import { LoginLimiter } from './auth/login-limiter.ts';
import { openBackend } from './backend/open-backend.ts';
import { startChores } from './background/maintenance.ts';
import { announcing, startQueues } from './background/start-queues.ts';
import { Cluster } from './cluster/cluster.ts';
import type { WorkerChannel } from './cluster/workers/worker-channel.ts';
import type { Config } from './config/config.ts';
import { EventHub } from './events/event-hub.ts';
import { addRoute } from './http/add-route.ts';
import { buildHttp } from './http/app.ts';
import { addDescription } from './http/description.ts';
import { type LoadGauge, startLoadGauge } from './http/load-gauge.ts';
import type { Route, RouteContext } from './http/route.ts';
import { SnapshotSlots } from './http/snapshot-slots.ts';
import { systemTimers } from './jobs/timers.ts';
import { OBJECT_MEMBERS_MAX, SEARCHES_PER_DEVICE_MAX } from './limits.ts';
import type { ServerLog } from './logging/open-log.ts';
import { type Engines, openBus, openEngines } from './open-engines.ts';
import { openTidemark, pace, random, wait } from './open-tidemark.ts';
import { type OpenPings, openPings } from './pings/open-pings.ts';
import { systemClock as clock, steadyClock } from './primitives/clocks.ts';
import { KeyedLimit } from './primitives/keyed-limit.ts';
import { allRoutes } from './routes/all-routes.ts';
import { addServiceRoutes } from './routes/service.ts';
import { lastGauge, queueDepths } from './telemetry/gauges.ts';
import { Metrics } from './telemetry/metrics.ts';

/** A server that answers. */
export interface Running {
  readonly url: string;
  readonly adminLogin: string;
  /** The password of the administrator, when it was made just now: it is shown once and kept nowhere. */
  readonly generatedPassword: string | null;
  /** The configuration has a password for the administrator that is not the one the administrator has. */
  readonly isAdminPasswordIgnored: boolean;
  /** Takes no new requests, lets those under way finish within the grace, then cuts them off. */
  close(): Promise<void>;
}

/** The log of the core, and where the edge tells its own faults. */
type EdgeLog = Log & Partial<Pick<ServerLog, 'logger'>>;

/** The word by which a source names the backend at `adapter_url`. */
const BACKEND = 'backend';
const SEARCH_RETRY_AFTER_S = 1;

const dice = () => Math.random();

/** The word by which servers on one store tell each other apart. */
const WORD_BYTES = 9;

/**
 * Puts the server together from the store, the core and HTTP. `more` are routes beside its own, for those who
 * measure what the edge costs without the product; `channel` is there when this process is one of several workers.
 */
export async function compose(
  config: Config,
  log: EdgeLog,
  more: readonly Route[] = [],
  channel: WorkerChannel | null = null,
): Promise<Running> {
  const engines = await openEngines(config, log);
  try {
    for (const warning of engines.store.engine.warnings ?? []) log.warn('store_warning', { detail: warning });
    return await serve(config, log, { ...engines, routes: [...allRoutes, ...more], channel });
  } catch (error) {
    // Whatever kept the server from starting must not leave the store open.
    await engines.store.close();
    throw error;
  }
}

interface ServeParts extends Engines {
  readonly routes: readonly Route[];
  readonly channel: WorkerChannel | null;
}

async function serve(config: Config, log: EdgeLog, { store, jobs, routes, channel }: ServeParts): Promise<Running> {
  const ownOrigins = ownOriginsOf(config, config.port);
  let onEnqueue: (queue: string) => void = () => {};
  const backend = openBackend({ config: config.backend, clock, steadyClock, random, log, tidemark: () => tidemark });
  const modules = new SourceModules(config.appFolder, { ...config.backend, log });
  // While an app is being written its modules are always loaded in the way in which they can be loaded again.
  await modules.load(config.isAppWatched);
  const word = randomBytes(WORD_BYTES).toString('base64url');
  const tidemark = await openTidemark(config, log, {
    store,
    server: { word, isGone: (other) => servers.isGone(other) },
    adapters: { find: (name) => (name === BACKEND ? backend : modules.find(name)) },
    jobs: announcing(jobs, (queue) => onEnqueue(queue)),
    urlRules: { ownOrigins, denyPrivate: config.backend.denyPrivate },
  });
  const { adminLogin, adminCreated, generatedPassword } = await tidemark.system.bootstrap({
    adminLogin: config.adminLogin,
    adminPassword: config.adminPassword,
    configuredSources: modules.declarationsWith(config.sources),
    licensee: config.licensee,
  });
  const limiter = new LoginLimiter(steadyClock, (keys) => servers.tell({ kind: 'login_failed', keys }));
  const events = eventHubOf(config, log, tidemark, (client, atMs) => servers.tell({ kind: 'listens', client, atMs }));
  const ways = { timers: systemTimers, openBus: (listener: BusListener) => openBus(config, log, listener) };
  const servers = new Cluster({ word, tidemark, hub: events, limiter, clock: steadyClock, ...ways });
  const onCounted = (caller: string) => servers.tell({ kind: 'pinged', caller });
  const surroundings = { clock, steadyClock, random, dice, pace, log };
  const carrier = await openPings({ config, tidemark, jobs, live: servers, onCounted, ...surroundings });
  servers.onPinged = (caller) => carrier.pings.countElsewhere(caller);
  let isStopping = false;
  const context = deskOf(config, { tidemark, jobs, backend, carrier, events, servers, limiter });
  const gauge = startLoadGauge(config.overload, { processes: channel === null ? 1 : config.workers });
  const app = await openEdge(config, { context, routes, log, isReady: () => !isStopping, gauge, channel });
  await app.listen({ host: config.host, port: config.port });
  // Only now, so that a server that cannot listen leaves nothing open.
  await servers.open();
  // Which port it is may only be known now.
  ownOrigins.push(...ownOriginsOf(config, portOf(app)));
  carrier.start();
  const queues = startQueues({ tidemark, jobs, clock, steadyClock, log, dice, queues: config.queues });
  onEnqueue = (queue) => queues.serve(queue);
  servers.onSources = () => queues.look();
  const takeOver = async () => {
    await tidemark.sources.configure(modules.declarationsWith(config.sources));
    for (const source of modules.names) await tidemark.refresher.refreshKnown(source);
  };
  const endWatch = config.isAppWatched ? modules.watch(takeOver) : () => undefined;
  const { retentionDays } = config.devices;
  const maintenance = startChores({
    ...{ tidemark, jobs, results: carrier.results, log, metrics: context.metrics, retentionDays },
    listeners: () => servers.listeners(),
  });
  const close = async () => {
    isStopping = true;
    app.drain();
    // Balancers look at /readyz from time to time, and send requests until they have seen it.
    if (config.shutdownDrainMs > 0) await wait(config.shutdownDrainMs);
    // Those who only listen are not waited for: they would never finish.
    events.close();
    await closeWithin(app, config.shutdownGraceMs);
    gauge.stop();
    endWatch();
    await Promise.all([carrier.stop(config.shutdownGraceMs), queues.stop(config.shutdownGraceMs)]);
    backend.close();
    await maintenance.stop();
    await servers.close();
    await store.close();
  };
  const isAdminPasswordIgnored = !adminCreated && (await isOtherPassword(tidemark, config));
  return { url: urlOf(app, config.host), adminLogin, generatedPassword, isAdminPasswordIgnored, close };
}

/** Whether the configuration has a password for the administrator, and it is another one than the administrator's. */
async function isOtherPassword({ users }: Tidemark, { adminLogin, adminPassword }: Config): Promise<boolean> {
  return adminPassword !== null && (await users.verifyPassword(adminLogin, adminPassword)) === null;
}

function eventHubOf(
  { devices }: Config,
  log: Log,
  tidemark: Tidemark,
  onListen: (client: string, atMs: number) => void,
): EventHub {
  const { heartbeatS, streamsMax } = devices;
  const heartbeatMs = heartbeatS * 1_000;
  return new EventHub({ tokens: tidemark.tokens, clock, log, heartbeatMs, streamsMax, onListen });
}

interface DeskParts extends Pick<RouteContext, 'tidemark' | 'jobs' | 'backend' | 'events' | 'servers' | 'limiter'> {
  readonly carrier: OpenPings;
}

function deskOf({ tokenTtlS, devices, backend }: Config, { carrier, ...parts }: DeskParts): RouteContext {
  const { pings, results, webPushKey } = carrier;
  const metrics = metricsOf(parts);
  return {
    ...parts,
    metrics,
    isBackendSecretConfigured: backend.secret !== null,
    searches: new KeyedLimit(SEARCHES_PER_DEVICE_MAX, tooManySearches),
    pings,
    results,
    webPushKey,
    snapshots: new SnapshotSlots(),
    nowMs: clock.nowMs,
    tokenTtlMs: tokenTtlS * 1_000,
    deviceTokenTtlMs: devices.tokenTtlS * 1_000,
  };
}

function tooManySearches(): Refusal {
  const detail = `a device has at most ${SEARCHES_PER_DEVICE_MAX} searches under way at once`;
  return new Refusal('rate_limited', detail, [], SEARCH_RETRY_AFTER_S);
}

function metricsOf({ events, tidemark: { store }, jobs }: Pick<DeskParts, 'events' | 'tidemark' | 'jobs'>): Metrics {
  const metrics = new Metrics();
  metrics.watchListeners(() => events.size);
  const watch = (name: string, help: string) =>
    metrics.watchInstallation(`tidemark_${name}`, help, () => lastGauge(store, name));
  watch('users', 'Users of the installation');
  watch('clients', 'Devices of the installation, listening or not');
  watch('listeners', 'Devices that listen for events, at all servers');
  metrics.watchQueues(() => queueDepths(jobs));
  return metrics;
}

interface EdgeParts {
  readonly context: RouteContext;
  readonly routes: readonly Route[];
  readonly log: EdgeLog;
  /** False once the server has been told to stop. */
  readonly isReady: () => boolean;
  readonly gauge: LoadGauge;
  readonly channel: WorkerChannel | null;
}

function openEdge(
  config: Config,
  { context, routes, log, isReady, gauge, channel }: EdgeParts,
): Promise<FastifyInstance> {
  const { bodyBytesMax, trustProxy, areMetricsPublic, devices } = config;
  // What another machine keeps needs no room on this one.
  const dataFolder = config.store === 'embedded' ? config.dataFolder : null;
  // Of requests only faults of ours are logged: what else happens is in the statistics and the audit trail.
  const logger = log.logger?.child({}, { level: 'error' });
  const objectMembersMax = Math.max(OBJECT_MEMBERS_MAX, config.limits.objectsPerWriteMax);
  const bounds = { objectMembersMax, deviceOrigins: devices.origins, listenersMax: devices.streamsMax };
  const options = { bodyBytesMax, gauge, trustProxy, ...bounds, ...(logger === undefined ? {} : { logger }) };
  channel?.measureWith(context.metrics);
  const scrape = channel === null ? {} : { scrape: () => channel.scrape(context.metrics) };
  return buildHttp(options, async (app) => {
    context.metrics.watchRequests(
      () => app.requestsOpen(),
      () => app.bodiesInFlight.bytes,
    );
    await addDescription(app);
    addServiceRoutes(app, context, { dataFolder, isMetricsPublic: areMetricsPublic, isReady, gauge, ...scrape });
    for (const route of routes) addRoute(app, context, route);
  });
}

/** The backend must not be this server itself: calls would go round in circles. */
function ownOriginsOf({ host, publicUrl }: Config, port: number): string[] {
  const local = ['localhost', '127.0.0.1', '[::1]', host.includes(':') ? `[${host}]` : host];
  return [...local.map((name) => `http://${name}:${port}`), ...(publicUrl === null ? [] : [new URL(publicUrl).origin])];
}

function portOf(app: FastifyInstance): number {
  return (app.server.address() as AddressInfo).port;
}

function urlOf(app: FastifyInstance, host: string): string {
  return `http://${host.includes(':') ? `[${host}]` : host}:${portOf(app)}`;
}

async function closeWithin(app: FastifyInstance, graceMs: number): Promise<void> {
  const cutOff = setTimeout(() => app.server.closeAllConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cutOff);
  }
}
