import { Refusal } from '@tidemark/protocol';
import type { FastifyInstance } from 'fastify';
import type { Config } from '../config/config.ts';
import { addConsole } from '../console/add-console.ts';
import { addDocs } from '../docs/add-docs.ts';
import { addRouteList } from '../http/add-route.ts';
import { addDescription } from '../http/description.ts';
import { ListSlots } from '../http/list-slots.ts';
import type { LoadGauge } from '../http/load-gauge.ts';
import type { Route, RouteContext } from '../http/route.ts';
import { SnapshotSlots } from '../http/snapshot-slots.ts';
import { SEARCHES_PER_DEVICE_MAX } from '../limits.ts';
import { KeyedLimit } from '../primitives/keyed-limit.ts';
import { allRoutes } from './all-routes.ts';
import { addServiceRoutes } from './service.ts';

/** What the context of routes makes itself, from the settings. */
type OwnServices =
  | 'publicUrl'
  | 'settings'
  | 'isBackendSecretConfigured'
  | 'searches'
  | 'snapshots'
  | 'lists'
  | 'tokenTtlMs'
  | 'deviceTokenTtlMs';

const SEARCH_RETRY_AFTER_S = 1;

/** Completes the services that routes use. */
export function openRouteContext(
  { tokenTtlS, devices, backend, publicUrl, settingsInForce: settings }: Config,
  services: Omit<RouteContext, OwnServices>,
): RouteContext {
  return {
    ...services,
    publicUrl,
    settings,
    isBackendSecretConfigured: backend.secret !== null,
    searches: new KeyedLimit(SEARCHES_PER_DEVICE_MAX, tooManySearches),
    snapshots: new SnapshotSlots(),
    lists: new ListSlots(),
    tokenTtlMs: tokenTtlS * 1_000,
    deviceTokenTtlMs: devices.tokenTtlS * 1_000,
  };
}

function tooManySearches(): Refusal {
  const detail = `a device has at most ${SEARCHES_PER_DEVICE_MAX} searches under way at once`;
  return new Refusal('rate_limited', detail, [], SEARCH_RETRY_AFTER_S);
}

export interface RoutesParts {
  readonly context: RouteContext;
  /** Routes that benchmarks and tests add. */
  readonly extraRoutes: readonly Route[];
  readonly gauge: LoadGauge;
  /** Returns the metrics of all workers as text. Absent: this process is the only one. */
  readonly scrape?: () => Promise<string>;
}

/** Adds everything that the server answers: the API and its description, health and metrics, console and documentation. */
export async function addRoutes(
  app: FastifyInstance,
  { store, dataFolder, areMetricsPublic: isMetricsPublic }: Config,
  { context, extraRoutes, ...service }: RoutesParts,
): Promise<void> {
  await addDescription(app);
  addServiceRoutes(app, context, {
    ...service,
    // Free disk space is only checked where the data is on this machine.
    dataFolder: store === 'embedded' ? dataFolder : null,
    isMetricsPublic,
    isReady: () => !app.isDraining(),
  });
  addConsole(app);
  addDocs(app);
  await addRouteList(app, context, [...allRoutes, ...extraRoutes]);
}
