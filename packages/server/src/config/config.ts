import { DEFAULT_LIMITS, type Limits, type SettingInForce } from '@tidemark/protocol';
import { type AdminSignInConfig, adminSignInOf } from './admin-sign-in-settings.ts';
import { type FileConfig, fileConfigOf } from './file-settings.ts';
import { type IssuerConfig, issuerOf } from './issuer-settings.ts';
import { type PingConfig, pingConfigOf } from './ping-config.ts';
import type { QueueSetting } from './queue-settings.ts';
import type { ConnectorConfig } from './read-connectors.ts';
import { parseSchedule, type Schedule } from './schedule.ts';
import { limitName, originsIn, type Settings } from './schema.ts';
import type { SourceSetting } from './source-settings.ts';

/** The settings as the code uses them, complete with defaults. */
export interface Config {
  readonly host: string;
  /** 0 lets the system choose a free port. */
  readonly port: number;
  /** Connections that the system holds until the server accepts them. */
  readonly listenBacklog: number;
  /** The number of worker processes. */
  readonly workers: number;
  /** An absolute path. */
  readonly dataFolder: string;
  /** An absolute path; null: `backups` in the data folder. */
  readonly backupFolder: string | null;
  readonly backup: {
    /** Null: none is made by schedule. */
    readonly schedule: Schedule | null;
    readonly keep: number;
    /** The program that is run after a scheduled backup. */
    readonly command: string | null;
  };
  /** `embedded`, or the address of a Valkey or Redis server. */
  readonly store: string;
  readonly isDurabilityRequired: boolean;
  readonly valkey: {
    readonly login: string | null;
    readonly password: string | null;
    readonly sentinelLogin: string | null;
    readonly sentinelPassword: string | null;
    readonly prefix: string;
    readonly answerMs: number;
    readonly confirmReplicas: number;
    readonly isConfirmedOnDisk: boolean;
  };
  readonly adminLogin: string;
  /** Null: the first start generates one. */
  readonly adminPassword: string | null;
  readonly logLevel: LogLevel;
  readonly logFormat: LogFormat;
  readonly requestLog: RequestLogRules;
  readonly licensee: string | null;
  readonly isResetAllowed: boolean;
  readonly tokenTtlS: number;
  readonly bodyBytesMax: number;
  readonly publicUrl: string | null;
  readonly trustProxy: boolean;
  readonly areMetricsPublic: boolean;
  /** How long requests under way may take to finish when the server stops. */
  readonly shutdownGraceMs: number;
  /** How long a stopping server still answers requests, while `/readyz` reports that it is draining. */
  readonly shutdownDrainMs: number;
  /** The bounds above which requests are refused. */
  readonly overload: LoadBounds;
  readonly rateLimits: RateLimits;
  readonly ping: PingConfig;
  /** An absolute path; null: there is no app. */
  readonly appFolder: string | null;
  /** Every setting with its origin, as it was at the start, for administrators. */
  readonly settingsInForce: readonly SettingInForce[];
  /** True if source modules are reloaded when they change, for development. */
  readonly isAppWatched?: boolean;
  readonly backend: {
    /** Null: one is generated and kept in the store. */
    readonly secret: string | null;
    readonly timeoutMs: number;
    readonly queryTimeoutMs: number;
    /** How long a pull waits for a query. */
    readonly pullWaitMs: number;
    readonly denyPrivate: boolean;
    /** How long logins verified by the backend stay valid while it cannot be reached; 0: not at all. */
    readonly offlineLoginS: number;
  };
  readonly issuers: readonly IssuerConfig[];
  /** Null: administrators do not sign in with an identity provider. */
  readonly adminSignIn: AdminSignInConfig | null;
  readonly queues: readonly QueueConfig[];
  readonly stats: { readonly retentionS: number };
  /** How long and how much of the activity is kept. */
  readonly activity: { readonly keepHours: number; readonly eventsMax: number };
  readonly devices: {
    readonly retentionDays: number;
    readonly tokenTtlS: number;
    readonly origins: readonly string[];
    readonly streamsMax: number;
    readonly streamsPerUserMax: number;
    readonly heartbeatS: number;
    readonly activeWindowS: number;
  };
  readonly files: FileConfig;
  readonly limits: Limits;
  /** In the form of the wire, as `Sources.configure` takes them. */
  readonly sources: readonly SourceSetting[];
  /** The databases that this server connects when it has their lease. Empty unless they were read. */
  readonly connectors: readonly ConnectorConfig[];
}

/** Null: the default number of workers, or no limit per second. */
export interface QueueConfig {
  readonly name: string;
  readonly workers: number | null;
  readonly perSecond: number | null;
}

/** Which requests are logged. */
export interface RequestLogRules {
  /** True if every request is logged; otherwise only failed and slow ones are. */
  readonly isComplete: boolean;
  /** Requests that take longer count as slow. */
  readonly slowMs: number;
}

/** The bounds above which a server is overloaded. */
export interface LoadBounds {
  /** The mean delay of the event loop. One long pause is no overload; a permanent delay is. */
  readonly eventLoopDelayMsMax: number;
  /** The share of the heap limit of Node.js that is in use. */
  readonly heapPercentMax: number;
  /** Resident memory of the process without file pages. 0 means a share of the available memory. */
  readonly rssBytesMax: number;
}

/** Requests within a window, by who makes them; 0 stands for no limit. */
export interface RateLimits {
  readonly windowS: number;
  readonly perDevice: number;
  /** All devices of one user together. */
  readonly perUser: number;
  /** One token of the REST API. */
  readonly perToken: number;
}

export type LogLevel = Settings['log_level'];
export type LogFormat = Settings['log_format'];

/** Maps the names of the file to those of the code. */
export function configOf(settings: Settings): Omit<Config, 'connectors' | 'settingsInForce'> {
  return {
    host: settings.host,
    port: settings.port,
    listenBacklog: settings.listen_backlog,
    workers: settings.workers,
    dataFolder: settings.data,
    backupFolder: settings.backup_folder,
    backup: { ...settings.backup, schedule: parseSchedule(settings.backup.schedule ?? '') },
    store: settings.store,
    isDurabilityRequired: settings.require_durable,
    valkey: {
      login: settings.valkey.login,
      password: settings.valkey.password,
      sentinelLogin: settings.valkey.sentinel_login,
      sentinelPassword: settings.valkey.sentinel_password,
      prefix: settings.valkey.prefix,
      answerMs: settings.valkey.answer_ms_max,
      confirmReplicas: settings.valkey.confirm_replicas,
      isConfirmedOnDisk: settings.valkey.confirm_on_disk,
    },
    adminLogin: settings.admin_login,
    adminPassword: settings.admin_password,
    logLevel: settings.log_level,
    logFormat: settings.log_format,
    requestLog: { isComplete: settings.log.requests, slowMs: settings.log.slow_request_ms },
    licensee: settings.licensee,
    isResetAllowed: settings.allow_reset,
    tokenTtlS: settings.token_ttl_s,
    bodyBytesMax: settings.body_bytes_max,
    publicUrl: settings.public_url,
    trustProxy: settings.trust_proxy,
    areMetricsPublic: settings.metrics_public,
    shutdownGraceMs: settings.shutdown_grace_ms,
    shutdownDrainMs: settings.shutdown_drain_ms,
    overload: {
      eventLoopDelayMsMax: settings.overload.event_loop_delay_ms_max,
      heapPercentMax: settings.overload.heap_percent_max,
      rssBytesMax: settings.overload.rss_bytes_max,
    },
    rateLimits: rateLimitsOf(settings.rate_limits),
    ping: pingConfigOf(settings),
    appFolder: settings.app,
    backend: {
      secret: settings.backend.secret,
      timeoutMs: settings.backend.timeout_ms,
      queryTimeoutMs: settings.backend.query_timeout_ms,
      pullWaitMs: settings.backend.pull_wait_ms,
      denyPrivate: settings.backend.deny_private,
      offlineLoginS: settings.backend.offline_login_s,
    },
    issuers: settings.issuers.map(issuerOf),
    adminSignIn: adminSignInOf(settings.admin_sign_in),
    queues: settings.queues.map(queueOf),
    stats: { retentionS: settings.stats.retention_s },
    activity: { keepHours: settings.activity.keep_h, eventsMax: settings.activity.events_max },
    devices: devicesOf(settings.devices),
    files: fileConfigOf(settings.files),
    limits: limitsOf(settings.limits as Readonly<Record<string, number>>),
    sources: settings.sources,
  };
}

function devicesOf(devices: Settings['devices']): Config['devices'] {
  return {
    retentionDays: devices.retention_days,
    tokenTtlS: devices.token_ttl_s,
    origins: devices.origins === null ? [] : originsIn(devices.origins),
    streamsMax: devices.streams_max,
    streamsPerUserMax: devices.streams_per_user_max,
    heartbeatS: devices.heartbeat_s,
    activeWindowS: devices.active_window_s,
  };
}

function rateLimitsOf(limits: Settings['rate_limits']): RateLimits {
  return {
    windowS: limits.window_s,
    perDevice: limits.device_requests,
    perUser: limits.user_requests,
    perToken: limits.token_requests,
  };
}

function queueOf({ name, workers, per_second }: QueueSetting): QueueConfig {
  return { name, workers: workers ?? null, perSecond: per_second ?? null };
}

function limitsOf(values: Readonly<Record<string, number>>): Limits {
  const limits = Object.entries(DEFAULT_LIMITS).map(([limit, usual]) => [limit, values[limitName(limit)] ?? usual]);
  return Object.fromEntries(limits) as Limits;
}
