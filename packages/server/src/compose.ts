import { randomBytes } from 'node:crypto';
import { stat } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Adapter, Log, Passwords, PingAttempt, Store, Tidemark } from '@tidemark/core';
import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance } from 'fastify';
import { ActivityHistory } from './activity/activity-history.ts';
import { type ActivityHint, ActivityHub } from './activity/activity-hub.ts';
import { showBackendFailure, showBackground, showPingAttempt } from './activity/show-background.ts';
import { SourceModules } from './app/source-modules.ts';
import { LoginLimiter } from './auth/login-limiter.ts';
import { openPasswords } from './auth/passwords.ts';
import { RateLimiter } from './auth/rate-limiter.ts';
import { SignInLimits } from './auth/sign-in-limits.ts';
import type { BackendHealth, HttpBackend } from './backend/http-backend.ts';
import { openBackend } from './backend/open-backend.ts';
import { JobAnnouncer, JobQueues } from './background/job-queues.ts';
import { Maintenance } from './background/maintenance.ts';
import { Backups } from './backups/backups.ts';
import { ScheduledBackups } from './backups/scheduled-backups.ts';
import { Cluster } from './cluster/cluster.ts';
import { ClusterDevices } from './cluster/cluster-devices.ts';
import { ClusterMembers } from './cluster/cluster-members.ts';
import type { WorkerChannel } from './cluster/workers/worker-channel.ts';
import type { Config } from './config/config.ts';
import { isHttpsUrl } from './config/kinds.ts';
import { addConsole } from './console/add-console.ts';
import { addDocs } from './docs/add-docs.ts';
import type { ReadLivePage } from './events/change-events.ts';
import { EventHub } from './events/event-hub.ts';
import { addRoute } from './http/add-route.ts';
import { buildHttp } from './http/app.ts';
import { addDescription } from './http/description.ts';
import { bodyBounds } from './http/json-body.ts';
import { ListSlots } from './http/list-slots.ts';
import { type LoadGauge, startLoadGauge } from './http/load-gauge.ts';
import { logRequests } from './http/log-requests.ts';
import type { Route, RouteContext } from './http/route.ts';
import { ServerAddress } from './http/server-address.ts';
import { showRefusals } from './http/show-activity.ts';
import { SnapshotSlots } from './http/snapshot-slots.ts';
import { IdentityProviders } from './identity/identity-providers.ts';
import { systemTimers } from './jobs/timers.ts';
import { type Part, startParts } from './lifecycle.ts';
import { SEARCHES_PER_DEVICE_MAX } from './limits.ts';
import type { ServerLog } from './logging/open-log.ts';
import { type Engines, openBus, openEngines } from './open-engines.ts';
import { openTidemark, pace, random, wait } from './open-tidemark.ts';
import { openPings, type PingService } from './pings/open-pings.ts';
import { systemClock as clock, steadyClock } from './primitives/clocks.ts';
import { KeyedLimit } from './primitives/keyed-limit.ts';
import { allRoutes } from './routes/all-routes.ts';
import { addServiceRoutes } from './routes/service.ts';
import { lastGauge, readQueues, readSeen } from './telemetry/gauges.ts';
import { Metrics } from './telemetry/metrics.ts';
import { readVersion } from './version.ts';

/** What the administrator is told at the start. */
interface AdminInfo {
  readonly adminLogin: string;
  /** The password of the administrator if it was generated just now: it is shown once and stored nowhere. */
  readonly generatedPassword: string | null;
  /** True if the configured password of the administrator is not the one in the store. */
  readonly isAdminPasswordIgnored: boolean;
}

/** A server that answers requests. */
export interface Running extends AdminInfo {
  readonly url: string;
  /** Takes no new requests, lets those under way finish within the grace period, then cuts them off. */
  close(): Promise<void>;
}

/** The log of the core, and the logger for errors of HTTP requests. */
type HttpLog = Log & Partial<Pick<ServerLog, 'logger' | 'requests' | 'outage'>>;

/** The name by which a source refers to the backend at `adapter_url`. */
const BACKEND = 'backend';
const SEARCH_RETRY_AFTER_S = 1;
const SERVER_ID_BYTES = 9;
/** The unit in which `stat` counts the space of a file. */
const DISK_BLOCK_BYTES = 512;

const dice = () => Math.random();

interface ComposeOptions {
  /** Routes that benchmarks and tests add. */
  readonly extraRoutes?: readonly Route[];
  /** Given if this process is one of several workers. */
  readonly channel?: WorkerChannel | null;
  /** Hashes passwords. Absent: at the cost that protects them. */
  readonly passwords?: Passwords;
}

/** Builds the server from the store, the core and HTTP, and starts it. */
export async function compose(
  config: Config,
  log: HttpLog,
  { extraRoutes = [], channel = null, passwords }: ComposeOptions = {},
): Promise<Running> {
  const engines = await openEngines(config, log.outage);
  const { store } = engines;
  for (const warning of store.engine.warnings ?? []) log.warn('store_warning', { detail: warning });
  const routes = [...allRoutes, ...extraRoutes];
  const input = { ...engines, routes, channel, passwords: passwords ?? (await openPasswords()) };
  const { parts, address, admin } = await build(config, log, input).catch(async (error) => {
    await store.close();
    throw error;
  });
  const close = await startParts([{ name: 'store', stop: () => store.close() }, ...parts]);
  return { url: address.url, ...admin, close };
}

interface ServerInput extends Engines {
  readonly routes: readonly Route[];
  readonly channel: WorkerChannel | null;
  readonly passwords: Passwords;
}

interface BuiltServer {
  readonly parts: readonly Part[];
  readonly address: ServerAddress;
  readonly admin: AdminInfo;
}

/** Creates all parts of the server without starting them. Each part only depends on those created before it. */
async function build(
  config: Config,
  log: HttpLog,
  { store, jobs, routes, channel, passwords }: ServerInput,
): Promise<BuiltServer> {
  const address = new ServerAddress(config);
  const id = randomBytes(SERVER_ID_BYTES).toString('base64url');
  const timers = systemTimers;
  const members = new ClusterMembers({ id, clock: steadyClock, timers, openBus: (bus) => openBus(config, log, bus) });
  const announcer = new JobAnnouncer(jobs);
  const metrics = new Metrics(readVersion());
  const core = { store, announcer, members, address, metrics, passwords };
  const { tidemark, backend, modules } = await buildCore(config, log, core);
  const admin = await bootstrap(config, tidemark, modules);
  const limiter = new LoginLimiter(steadyClock, (keys) => members.tell({ kind: 'login_failed', keys }));
  const rates = new RateLimiter(config.rateLimits, steadyClock, (spent) => members.tell({ kind: 'spent', ...spent }));
  const providers = newProviders(config, log, tidemark);
  const events = newEventHub(config, log, tidemark, members);
  const history = newHistory(config, log, tidemark, id);
  const activity = newActivityHub(log, { tidemark, members, history });
  backend.watchFailures((failure) => showBackendFailure(activity, failure));
  const devices = new ClusterDevices(events, members);
  const ports = { clock, steadyClock, random, dice, pace, log };
  const onCounted = (caller: string) => members.tell({ kind: 'pinged', caller });
  watchServer(metrics, { events, activity, tidemark, jobs, backend });
  watchStore(metrics, config, tidemark.store);
  const onAttempt = (attempt: PingAttempt) => {
    metrics.pingAttempted(attempt.service, attempt.status);
    showPingAttempt(activity, attempt);
  };
  const ping = await openPings({ config, tidemark, jobs, live: devices, onCounted, onAttempt, ...ports });
  const queues = new JobQueues({ tidemark, jobs, announcer, clock, steadyClock, log, dice, queues: config.queues });
  const limits = { limiter, rates, pings: ping.pings };
  const cluster = new Cluster({ members, tidemark, hub: events, activity, ...limits, queues, timers });
  const { scheduledBackups, backups } = newBackups(config, log, tidemark);
  const context = newRouteContext(config, {
    ...{ backups, scheduledBackups, history },
    tidemark,
    jobs,
    backend,
    ping,
    events,
    liveDevices: devices,
    activity,
    metrics,
    cluster,
    limiter,
    signIns: new SignInLimits(steadyClock),
    rates,
    providers,
  });
  const gauge = startLoadGauge(config.overload, { processes: channel === null ? 1 : config.workers });
  const app = await buildApp(config, { context, routes, log, gauge, channel });
  const maintenance = new Maintenance({
    ...{ tidemark, jobs, results: ping.results, log, metrics: context.metrics, history },
    retentionDays: config.devices.retentionDays,
    listeners: () => devices.count(),
  });
  const { shutdownGraceMs: graceMs } = config;
  const parts: readonly Part[] = [
    { name: 'load gauge', stop: () => gauge.stop() },
    { name: 'activity history', stop: () => history?.close() },
    httpPart(config, app, address, () => {
      events.close();
      activity.close();
    }),
    { name: 'cluster', start: () => cluster.open(), stop: () => cluster.close() },
    // Flushes the statistics when it stops, so it stops after everything that records some, and before the cluster.
    { name: 'maintenance', start: () => maintenance.start(), stop: () => maintenance.stop() },
    { name: 'scheduled backups', start: () => scheduledBackups?.start(), stop: () => scheduledBackups?.stop() },
    { name: 'backend', stop: () => backend.close() },
    jobsPart(ping, queues, graceMs),
    ...(config.isAppWatched ? [watchPart(config, modules, tidemark)] : []),
  ];
  return { parts, address, admin };
}

interface CoreInput extends Pick<ServerInput, 'store' | 'passwords'> {
  readonly announcer: JobAnnouncer;
  readonly members: ClusterMembers;
  readonly address: ServerAddress;
  readonly metrics: Metrics;
}

interface BuiltCore {
  readonly tidemark: Tidemark;
  readonly backend: HttpBackend;
  readonly modules: SourceModules;
}

/** Opens the core and its adapters. The core finds adapters by name, so the backend, which needs the core, is added last. */
async function buildCore(
  config: Config,
  log: Log,
  { store, announcer, members, address, metrics, passwords }: CoreInput,
): Promise<BuiltCore> {
  const modules = new SourceModules(config.appFolder, { ...config.backend, log });
  // Watched modules are loaded in a way that can be repeated.
  await modules.load(config.isAppWatched);
  const named = new Map<string, Adapter>();
  const tidemark = openTidemark(config, log, {
    store,
    passwords,
    server: { id: members.id, isGone: (id) => members.isGone(id) },
    adapters: {
      find: (name) => named.get(name) ?? modules.find(name),
      names: () => [...named.keys(), ...modules.names],
    },
    jobs: announcer,
    onWritten: (tookMs) => metrics.written(tookMs / 1_000),
    urlRules: {
      get ownOrigins() {
        return address.origins;
      },
      denyPrivate: config.backend.denyPrivate,
    },
  });
  const onCall = (call: string, outcome: string, tookMs: number) =>
    metrics.backendCalled(call, outcome, tookMs / 1_000);
  const backend = openBackend({ config: config.backend, clock, steadyClock, random, log, tidemark, onCall });
  named.set(BACKEND, backend);
  return { tidemark, backend, modules };
}

/** Prepares the store at the first start, and applies the configured administrator and sources at every start. */
async function bootstrap(config: Config, { system, users }: Tidemark, modules: SourceModules): Promise<AdminInfo> {
  const { adminLogin: login, adminPassword: password, licensee, sources } = config;
  const { adminLogin, adminCreated, generatedPassword } = await system.bootstrap({
    adminLogin: login,
    adminPassword: password,
    configuredSources: modules.declarationsWith(sources),
    licensee,
  });
  const isAdminPasswordIgnored =
    !adminCreated && password !== null && (await users.verifyPassword(login, password)) === null;
  return { adminLogin, generatedPassword, isAdminPasswordIgnored };
}

function newProviders(config: Config, log: Log, { identities }: Tidemark): IdentityProviders {
  const { issuers, adminSignIn, backend } = config;
  const ports = { identities, clock, steadyClock, log };
  return new IdentityProviders({ issuers, adminSignIn, denyPrivate: backend.denyPrivate, ...ports });
}

function newEventHub(
  { devices }: Config,
  log: Log,
  { tokens, clients, devices: core }: Tidemark,
  members: ClusterMembers,
): EventHub {
  const { heartbeatS, streamsMax, streamsPerUserMax } = devices;
  const onListen = (client: string, atMs: number) => members.tell({ kind: 'listens', client, atMs });
  const readLivePage: ReadLivePage = (partition, range) => core.livePage(partition, range);
  const heartbeatMs = heartbeatS * 1_000;
  const bounds = { heartbeatMs, streamsMax, streamsPerUserMax };
  return new EventHub({ tokens, clients, clock, log, ...bounds, onListen, readLivePage });
}

function newHistory({ activity }: Config, log: Log, { store }: Tidemark, server: string): ActivityHistory | null {
  if (activity.keepHours === 0) return null;
  return new ActivityHistory({ store, clock, timers: systemTimers, log, server, ...activity });
}

interface ActivityParts {
  readonly tidemark: Tidemark;
  readonly members: ClusterMembers;
  readonly history: ActivityHistory | null;
}

function newActivityHub(log: Log, { tidemark, members, history }: ActivityParts): ActivityHub {
  const tell = (hint: ActivityHint) => members.tell(hint);
  const ports = { clock, steadyClock, timers: systemTimers, log, tell, history };
  const activity = new ActivityHub({ ...ports, server: members.id, tokens: tidemark.tokens });
  showBackground(activity, tidemark);
  return activity;
}

/** HTTP starts before and drains before all others, so that jobs may rely on it and requests may rely on them. */
function httpPart(config: Config, app: FastifyInstance, address: ServerAddress, endStreams: () => void): Part {
  const { host, port, listenBacklog: backlog, shutdownDrainMs, shutdownGraceMs } = config;
  return {
    name: 'http',
    async start() {
      await app.listen({ host, port, backlog });
      address.bind(app.server.address() as AddressInfo);
    },
    async drain() {
      app.drain();
      // Load balancers poll /readyz and send requests until they have seen that the server is draining.
      if (shutdownDrainMs > 0) await wait(shutdownDrainMs);
      // Event streams never finish by themselves.
      endStreams();
      await closeWithin(app, shutdownGraceMs);
    },
  };
}

/** Pings and queues stop at the same time, so that both have the whole grace period. */
function jobsPart(ping: PingService, queues: JobQueues, graceMs: number): Part {
  return {
    name: 'jobs',
    start() {
      ping.start();
      queues.start();
    },
    stop: async () => void (await Promise.all([ping.stop(graceMs), queues.stop(graceMs)])),
  };
}

/** Applies source modules again when their files change. */
function watchPart({ sources }: Config, modules: SourceModules, tidemark: Tidemark): Part {
  const apply = async () => {
    await tidemark.sources.configure(modules.declarationsWith(sources));
    for (const source of modules.names) await tidemark.refresher.refreshKnown(source);
  };
  let unwatch = () => {};
  return {
    name: 'source modules',
    start() {
      unwatch = modules.watch(apply);
    },
    stop: () => unwatch(),
  };
}

interface ContextParts
  extends Pick<
    RouteContext,
    | 'tidemark'
    | 'jobs'
    | 'backend'
    | 'events'
    | 'activity'
    | 'history'
    | 'backups'
    | 'scheduledBackups'
    | 'metrics'
    | 'cluster'
    | 'limiter'
    | 'signIns'
    | 'rates'
    | 'providers'
    | 'liveDevices'
  > {
  readonly ping: PingService;
}

function newRouteContext(
  { tokenTtlS, devices, backend, publicUrl, settingsInForce: settings }: Config,
  { ping, ...parts }: ContextParts,
): RouteContext {
  const { pings, results, webPushKey } = ping;
  return {
    ...parts,
    publicUrl,
    settings,
    isBackendSecretConfigured: backend.secret !== null,
    searches: new KeyedLimit(SEARCHES_PER_DEVICE_MAX, tooManySearches),
    pings,
    results,
    webPushKey,
    snapshots: new SnapshotSlots(),
    lists: new ListSlots(),
    nowMs: clock.nowMs,
    tokenTtlMs: tokenTtlS * 1_000,
    deviceTokenTtlMs: devices.tokenTtlS * 1_000,
  };
}

function newBackups(
  { store: engine, backupFolder, dataFolder, backup: { schedule, ...terms } }: Config,
  log: Log,
  { store, audit }: Tidemark,
): { readonly backups: Backups; readonly scheduledBackups: ScheduledBackups | null } {
  const folder = engine === 'embedded' ? (backupFolder ?? join(dataFolder, 'backups')) : null;
  const { nowMs } = clock;
  const backups = new Backups({ store, folder, nowMs });
  const isScheduled = schedule !== null;
  const scheduledBackups = isScheduled
    ? new ScheduledBackups({ backups, store, audit, log, nowMs, schedule, ...terms })
    : null;
  return { backups, scheduledBackups };
}

function tooManySearches(): Refusal {
  const detail = `a device has at most ${SEARCHES_PER_DEVICE_MAX} searches under way at once`;
  return new Refusal('rate_limited', detail, [], SEARCH_RETRY_AFTER_S);
}

type MetricsSources = Pick<RouteContext, 'events' | 'activity' | 'tidemark' | 'jobs' | 'backend'>;

function watchServer(metrics: Metrics, { events, activity, tidemark, jobs, backend }: MetricsSources): void {
  metrics.watchActivityStreams(() => activity.size);
  metrics.watchListeners(() => events.size);
  const watch = (name: string, help: string) =>
    metrics.watchInstallation(`tidemark_${name}`, help, () => lastGauge(tidemark.store, name));
  watch('users', 'Users of the installation');
  watch('clients', 'Devices of the installation, listening or not');
  watch('listeners', 'Devices that listen for events, at all servers');
  metrics.watchSeen(() => readSeen(tidemark.store));
  metrics.watchStaleness(() => inSeconds(tidemark.freshness.stalenessMs()));
  tidemark.freshness.onDelivered((source, tookMs) => metrics.delivered(source, tookMs / 1_000));
  metrics.watchQueues(() => readQueues(jobs));
  metrics.watchBreakers(async () => breakerStates(await backend.health()));
  tidemark.events.on('refreshed', ({ partition: { source }, code, tookMs }) =>
    metrics.refreshed(source, code, tookMs / 1_000),
  );
  tidemark.events.on('outcome', ({ source, status }) => metrics.uploaded(source, status));
}

function watchStore(metrics: Metrics, { store: engine, dataFolder }: Config, store: Store): void {
  store.onFlushed?.((tookMs) => metrics.flushed(tookMs / 1_000));
  if (engine === 'embedded') {
    // The embedded store is a sparse file: what counts is the space it takes on the disk.
    const read = async () => (await stat(join(dataFolder, 'store.mdb'))).blocks * DISK_BLOCK_BYTES;
    metrics.watchInstallation('tidemark_store_bytes', 'Space that the embedded store takes on the disk', read);
  } else {
    const help = 'Memory that the primaries of Valkey use, for all that they hold; read every minute';
    const read = () => lastGauge(store, 'valkey_memory_bytes');
    metrics.watchInstallation('tidemark_valkey_memory_bytes', help, read);
  }
}

function inSeconds(times: ReadonlyMap<string, number>): ReadonlyMap<string, number> {
  return new Map(Array.from(times, ([name, ms]) => [name, ms / 1_000]));
}

const BREAKER_STATES = { closed: 0, trying: 1, open: 2 } as const;

/** Without a backend there is nothing to show. */
function breakerStates({ isSet, kinds }: BackendHealth): ReadonlyMap<string, number> {
  return new Map(isSet ? Object.entries(kinds).map(([call, { state }]) => [call, BREAKER_STATES[state]]) : []);
}

interface AppParts {
  readonly context: RouteContext;
  readonly routes: readonly Route[];
  readonly log: HttpLog;
  readonly gauge: LoadGauge;
  readonly channel: WorkerChannel | null;
}

function buildApp(config: Config, { context, routes, log, gauge, channel }: AppParts): Promise<FastifyInstance> {
  const { bodyBytesMax, trustProxy, areMetricsPublic: isMetricsPublic, devices } = config;
  // Free disk space is only checked where the data is on this machine.
  const dataFolder = config.store === 'embedded' ? config.dataFolder : null;
  // The framework only logs internal errors; `logRequests` logs requests.
  const logger = log.logger?.child({}, { level: 'error' });
  const bounds = {
    bodyBounds: bodyBounds(config.limits),
    deviceOrigins: devices.origins,
    listenersMax: devices.streamsMax,
    isPublicHttps: isHttpsUrl(config.publicUrl),
  };
  const options = { bodyBytesMax, gauge, trustProxy, ...bounds, ...(logger === undefined ? {} : { logger }) };
  channel?.measureWith(context.metrics);
  const scrape = channel === null ? {} : { scrape: () => channel.scrape(context.metrics) };
  return buildHttp(options, async (app) => {
    context.metrics.watchRequests(
      () => app.requestsOpen(),
      () => app.bodiesInFlight.bytes,
    );
    if (log.requests !== undefined) {
      log.requests.configure(config.requestLog);
      logRequests(app, log.requests);
    }
    showRefusals(app, context.activity);
    await addDescription(app);
    const isReady = () => !app.isDraining();
    addServiceRoutes(app, context, { dataFolder, isMetricsPublic, isReady, gauge, ...scrape });
    addConsole(app);
    addDocs(app);
    for (const route of routes) addRoute(app, context, route);
  });
}

async function closeWithin(app: FastifyInstance, graceMs: number): Promise<void> {
  const cutOff = setTimeout(() => app.server.closeAllConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cutOff);
  }
}
