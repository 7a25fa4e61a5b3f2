import type { AddressInfo } from 'node:net';
import type { Log } from '@tidemark/core';
import type { FastifyInstance } from 'fastify';
import type { ActivityHub } from '../activity/activity-hub.ts';
import type { Config } from '../config/config.ts';
import { isHttpsUrl } from '../config/kinds.ts';
import type { Part } from '../lifecycle.ts';
import type { ServerLog } from '../logging/open-log.ts';
import { wait } from '../primitives/system-ports.ts';
import type { Metrics } from '../telemetry/metrics.ts';
import { buildHttp } from './app.ts';
import { bodyBounds } from './json-body.ts';
import type { LoadGauge } from './load-gauge.ts';
import { logRequests } from './log-requests.ts';
import type { ServerAddress } from './server-address.ts';
import { showRefusals } from './show-activity.ts';

/** The log of the core, and the logger for errors of HTTP requests. */
export type HttpLog = Log & Partial<Pick<ServerLog, 'logger' | 'requests' | 'outage'>>;

export interface HttpParts {
  readonly log: HttpLog;
  readonly gauge: LoadGauge;
  readonly metrics: Metrics;
  readonly activity: ActivityHub;
  readonly addRoutes: (app: FastifyInstance) => Promise<void>;
}

/** Opens HTTP with all routes. It does not listen yet. */
export function openHttp(config: Config, parts: HttpParts): Promise<FastifyInstance> {
  const { bodyBytesMax, trustProxy, devices, limits, publicUrl, requestLog } = config;
  const { log, gauge, metrics, activity, addRoutes } = parts;
  // The framework only logs internal errors; `logRequests` logs requests.
  const logger = log.logger?.child({}, { level: 'error' });
  const bounds = {
    bodyBounds: bodyBounds(limits),
    deviceOrigins: devices.origins,
    listenersMax: devices.streamsMax,
    isPublicHttps: isHttpsUrl(publicUrl),
  };
  const options = { bodyBytesMax, gauge, trustProxy, ...bounds, ...(logger === undefined ? {} : { logger }) };
  return buildHttp(options, async (app) => {
    metrics.watch.requests(
      () => app.requestsOpen(),
      () => app.bodiesInFlight.bytes,
    );
    if (log.requests !== undefined) {
      log.requests.configure(requestLog);
      logRequests(app, log.requests);
    }
    showRefusals(app, activity);
    await addRoutes(app);
  });
}

/** HTTP starts before and drains before all others, so that jobs may rely on it and requests may rely on them. */
export function httpPart(config: Config, app: FastifyInstance, address: ServerAddress, endStreams: () => void): Part {
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

async function closeWithin(app: FastifyInstance, graceMs: number): Promise<void> {
  const cutOff = setTimeout(() => app.server.closeAllConnections(), graceMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cutOff);
  }
}
