import { randomBytes } from 'node:crypto';
import type { Passwords, PingAttempt } from '@tidemark/core';
import { openActivity } from './activity/open-activity.ts';
import { showBackendFailure, showPingAttempt } from './activity/show-background.ts';
import { type DescribedSource, describeSources } from './app/describe-sources.ts';
import { modulesPart } from './app/source-modules.ts';
import { LoginLimiter } from './auth/login-limiter.ts';
import { openPasswords } from './auth/passwords.ts';
import { RateLimiter } from './auth/rate-limiter.ts';
import { SignInLimits } from './auth/sign-in-limits.ts';
import { JobAnnouncer, JobQueues } from './background/job-queues.ts';
import { Maintenance } from './background/maintenance.ts';
import { openBackups } from './backups/open-backups.ts';
import { Cluster } from './cluster/cluster.ts';
import { ClusterDevices } from './cluster/cluster-devices.ts';
import { ClusterMembers } from './cluster/cluster-members.ts';
import type { WorkerChannel } from './cluster/workers/worker-channel.ts';
import type { Config } from './config/config.ts';
import { Connectors, connectorsPart } from './connectors/connectors.ts';
import { openEvents } from './events/open-events.ts';
import { openFiles } from './files/open-files.ts';
import { openLoadGauge } from './http/load-gauge.ts';
import { type HttpLog, httpPart, openHttp } from './http/open-http.ts';
import type { Route } from './http/route.ts';
import { ServerAddress } from './http/server-address.ts';
import { openProviders } from './identity/identity-providers.ts';
import { systemTimers as timers } from './jobs/timers.ts';
import { type Part, startParts } from './lifecycle.ts';
import { type AdminInfo, bootstrap, openCore } from './open-core.ts';
import { type Engines, openBus, openEngines } from './open-engines.ts';
import { openPings } from './pings/open-pings.ts';
import { systemClock as clock, pace, random, steadyClock } from './primitives/system-ports.ts';
import { addRoutes, openRouteContext } from './routes/open-routes.ts';
import { Metrics } from './telemetry/metrics.ts';
import { watchServer } from './telemetry/watch-server.ts';
import { readVersion } from './version.ts';

/** A server that answers requests. */
export interface Running extends AdminInfo {
  readonly url: string;
  /** Takes other connectors; those that are the same go on. */
  configureConnectors(connectors: Config['connectors']): Promise<void>;
  /** Returns all sources with their schemas, for the types of an app. */
  describeSources(): Promise<readonly DescribedSource[]>;
  /** Takes no new requests, lets those under way finish within the grace period, then cuts them off. */
  close(): Promise<void>;
}

const SERVER_ID_BYTES = 9;

const jitter = () => Math.random();

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
  const input = { ...engines, extraRoutes, channel, passwords: passwords ?? (await openPasswords()) };
  const server = await openServer(config, log, input).catch(async (error) => {
    await store.close();
    throw error;
  });
  const close = await startParts([{ name: 'store', stop: () => store.close() }, ...partsOf(config, server)]);
  const configureConnectors = (connectors: Config['connectors']) => server.connectors.configure(connectors);
  return {
    url: server.address.url,
    ...server.admin,
    configureConnectors,
    describeSources: () => describeSources(server.tidemark),
    close,
  };
}

interface ServerInput extends Engines, Required<ComposeOptions> {}

/** Opens all that the server consists of, without starting it. Each line only depends on those before it. */
async function openServer(config: Config, log: HttpLog, input: ServerInput) {
  const { store, jobs, extraRoutes, channel, passwords } = input;
  const address = new ServerAddress(config);
  const id = randomBytes(SERVER_ID_BYTES).toString('base64url');
  const ports = { clock, steadyClock, timers, random, jitter, pace, log };
  const members = new ClusterMembers({ id, clock: steadyClock, timers, openBus: (bus) => openBus(config, log, bus) });
  const announcer = new JobAnnouncer(jobs);
  const metrics = new Metrics(readVersion());
  const core = await openCore(config, log, { store, announcer, members, address, metrics, passwords });
  const { tidemark, backend, modules } = core;
  const admin = await bootstrap(config, tidemark, modules);

  const limiter = new LoginLimiter(steadyClock, (keys) => members.tell({ kind: 'login_failed', keys }));
  const rates = new RateLimiter(config.rateLimits, steadyClock, (spent) => members.tell({ kind: 'spent', ...spent }));
  const providers = openProviders(config, { ...ports, identities: tidemark.identities });
  const onListen = (client: string, atMs: number) => members.tell({ kind: 'listens', client, atMs });
  const events = openEvents(config.devices, { ...ports, tidemark, onListen });
  const tell = members.tell.bind(members);
  const { activity, history } = openActivity(config.activity, { ...ports, server: id, tidemark, tell });
  backend.watchFailures((failure) => showBackendFailure(activity, failure));
  const liveDevices = new ClusterDevices(events, members);
  const dataFolder = config.store === 'embedded' ? config.dataFolder : null;
  watchServer(metrics, { events, activity, tidemark, jobs, backend, dataFolder });
  const ping = await openPings({
    ...{ ...ports, config, tidemark, jobs, live: liveDevices },
    onCounted: (caller: string) => members.tell({ kind: 'pinged', caller }),
    onAttempt: (attempt: PingAttempt) => {
      metrics.devices.pingAttempted(attempt.service, attempt.status);
      showPingAttempt(activity, attempt);
    },
  });
  const { pings, results, webPushKey } = ping;
  const queues = new JobQueues({ ...ports, tidemark, jobs, announcer, queues: config.queues });
  const cluster = new Cluster({ members, tidemark, hub: events, activity, limiter, rates, pings, queues, timers });
  const files = await openFiles(config, { tidemark, links: core.links, nowMs: clock.nowMs, log });
  const { backups, scheduledBackups } = openBackups(config, { ...ports, tidemark, files });
  const maintenance = new Maintenance({
    ...{ tidemark, jobs, results, log, metrics, history, retentionDays: config.devices.retentionDays },
    fileBytes: files.engine,
    listeners: () => liveDevices.count(),
  });

  const connectors = new Connectors(config.connectors, {
    inject: (call) => app.inject(call),
    adapters: core.adapters,
    tidemark,
    log,
    serverId: id,
  });

  const context = openRouteContext(config, {
    ...{ tidemark, jobs, pings, results, webPushKey, limiter, rates, providers },
    signIns: new SignInLimits(steadyClock),
    ...{ events, liveDevices, activity, history, cluster, metrics, backend },
    ...{ backups, scheduledBackups, connectors, files },
    nowMs: clock.nowMs,
  });
  const gauge = openLoadGauge(config.overload, { processes: channel === null ? 1 : config.workers });
  channel?.measureWith(metrics);
  const scrape = channel === null ? {} : { scrape: () => channel.scrape(metrics) };
  const app = await openHttp(config, {
    ...{ log, gauge, metrics, activity },
    addRoutes: (to) => addRoutes(to, config, { context, extraRoutes, gauge, ...scrape }),
  });
  return {
    ...{ address, admin, app, gauge, events, activity, history, cluster, maintenance, scheduledBackups },
    ...{ backend, ping, queues, modules, tidemark, connectors },
  };
}

type OpenedServer = Awaited<ReturnType<typeof openServer>>;

/** The parts of the server in the order in which they start; they drain and stop in reverse order. */
function partsOf(config: Config, server: OpenedServer): readonly Part[] {
  const { address, app, gauge, events, activity, history, cluster, maintenance, scheduledBackups } = server;
  const { backend, ping, queues, modules, tidemark, connectors } = server;
  const { shutdownGraceMs: graceMs } = config;
  return [
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
    {
      name: 'jobs',
      start() {
        ping.start();
        queues.start();
      },
      // At the same time, so that both have the whole grace period.
      stop: async () => void (await Promise.all([ping.stop(graceMs), queues.stop(graceMs)])),
    },
    ...(config.isAppWatched ? [modulesPart(modules, tidemark, config.sources)] : []),
    connectorsPart(connectors),
  ];
}
