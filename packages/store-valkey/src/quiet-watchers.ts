import type { Redis } from 'ioredis';

/** What the client makes of an address with sentinels. Its type is not one of those the client shows. */
interface SentinelConnector {
  connectToSentinel?(...args: readonly unknown[]): Redis;
}

/**
 * Behind sentinels the client listens at each of them for failovers, by connections of its own. Of these it writes every
 * error to the console, again and again while a sentinel is away, and lets nobody listen to them instead. That a sentinel is
 * away is told by those who look for the primary, when it matters.
 */
export function quietWatchers(client: Redis): Redis {
  const { connector } = client as unknown as { readonly connector: SentinelConnector };
  const connect = connector.connectToSentinel?.bind(connector);
  if (connect !== undefined) connector.connectToSentinel = (...args) => connect(...args).on('error', () => undefined);
  return client;
}
