import type { Adapter, Log, Passwords, Store, Tidemark } from '@tidemark/core';
import { SourceModules } from './app/source-modules.ts';
import type { HttpBackend } from './backend/http-backend.ts';
import { openBackend } from './backend/open-backend.ts';
import type { JobAnnouncer } from './background/job-queues.ts';
import type { ClusterMembers } from './cluster/cluster-members.ts';
import type { Config } from './config/config.ts';
import { FileLinks } from './files/file-links.ts';
import type { ServerAddress } from './http/server-address.ts';
import { openTidemark } from './open-tidemark.ts';
import { systemClock as clock, random, steadyClock } from './primitives/system-ports.ts';
import type { Metrics } from './telemetry/metrics.ts';

/** What the administrator is told at the start. */
export interface AdminInfo {
  readonly adminLogin: string;
  /** The password of the administrator if it was generated just now: it is shown once and stored nowhere. */
  readonly generatedPassword: string | null;
  /** True if the configured password of the administrator is not the one in the store. */
  readonly isAdminPasswordIgnored: boolean;
}

/** The name by which a source refers to the backend at `adapter_url`. */
const BACKEND = 'backend';

export interface CoreParts {
  readonly store: Store;
  readonly passwords: Passwords;
  readonly announcer: JobAnnouncer;
  readonly members: ClusterMembers;
  readonly address: ServerAddress;
  readonly metrics: Metrics;
}

export interface OpenedCore {
  readonly tidemark: Tidemark;
  readonly backend: HttpBackend;
  readonly links: FileLinks;
  readonly modules: SourceModules;
  /** The adapters that are no source modules. Connectors add theirs when they start. */
  readonly adapters: Map<string, Adapter>;
}

/** Opens the core and its adapters. The core finds adapters by name, so the backend, which needs the core, is added last. */
export async function openCore(
  config: Config,
  log: Log,
  { store, announcer, members, address, metrics, passwords }: CoreParts,
): Promise<OpenedCore> {
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
    onWritten: (tookMs) => metrics.store.written(tookMs / 1_000),
    urlRules: {
      get ownOrigins() {
        return address.origins;
      },
      denyPrivate: config.backend.denyPrivate,
    },
  });
  const onCall = (call: string, outcome: string, tookMs: number) =>
    metrics.backend.called(call, outcome, tookMs / 1_000);
  const links = new FileLinks({
    secret: async () => config.backend.secret ?? tidemark.system.backendSecret(),
    serverUrl: () => config.publicUrl ?? address.url,
    nowMs: clock.nowMs,
  });
  const fileLinks = (attributes: unknown) => links.linksFor(attributes);
  const backend = openBackend({ config: config.backend, clock, steadyClock, random, log, tidemark, fileLinks, onCall });
  named.set(BACKEND, backend);
  return { tidemark, backend, links, modules, adapters: named };
}

/** Prepares the store at the first start, and applies the configured administrator and sources at every start. */
export async function bootstrap(
  config: Config,
  { system, users }: Tidemark,
  modules: SourceModules,
): Promise<AdminInfo> {
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
