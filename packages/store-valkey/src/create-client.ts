import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { Access, Address, Node } from './address.ts';

// The options of ioredis for each kind of address. A client is created here and connected by its caller.

export const ANSWER_MS = 1_500;
export const RECONNECT_MS_MAX = 500;
const RECONNECT_STEP_MS = 50;
const CONNECT_MS = 1_000;
/** Time for connecting and logging in. Commands have a shorter timeout of their own. */
const HANDSHAKE_MS = 10_000;
const REDIRECTIONS_MAX = 10;
const CLUSTER_RETRY_MS = 100;
const SLOTS_REFRESH_MS = 2_000;

/** A client, and the nodes at which it looks for a primary after it has lost its connection. */
export interface CreatedClient {
  readonly client: Redis | Cluster;
  readonly nodes: readonly Node[];
}

type CommonOptions = ReturnType<typeof commonOptions>;
type SentinelAddress = Extract<Address, { readonly kind: 'sentinel' }>;

interface ClientOptions {
  /** The name of the connection that `CLIENT LIST` shows. */
  readonly name?: string | undefined;
  /** How long a reply may take. Connecting may take as long, if that is longer than usual. */
  readonly answerMs?: number;
}

export function createClient(address: Address, { name, answerMs = 0 }: ClientOptions): CreatedClient {
  const connectTimeout = Math.max(CONNECT_MS, answerMs);
  const named = name === undefined ? {} : { connectionName: name };
  const common = { ...commonOptions(address.access), connectTimeout, ...named };
  if (address.kind === 'cluster') return createCluster(address.nodes, common);
  if (address.kind === 'sentinel') return { client: createBehindSentinels(address, common), nodes: address.nodes };
  const { node, access } = address;
  return { client: new Redis({ ...common, ...node, db: access.database }), nodes: [node] };
}

function commonOptions(access: Access) {
  return {
    ...subscriberOptions(access),
    commandTimeout: HANDSHAKE_MS,
    // After a failover the old primary refuses writes. The client then reconnects and finds the new one.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    retryStrategy: reconnectMs,
    autoResendUnfulfilledCommands: false,
  } satisfies RedisOptions;
}

/** Options of a connection that does not reconnect by itself. */
export function subscriberOptions({ username, password, isEncrypted }: Access) {
  return {
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(isEncrypted ? { tls: {} } : {}),
    lazyConnect: true,
    protocol: 2 as const,
    connectTimeout: CONNECT_MS,
    enableOfflineQueue: false,
    maxRetriesPerRequest: 0,
  } satisfies RedisOptions;
}

/** The nodes that the address names may be gone while the cluster goes on, so the nodes it reports are remembered. */
function createCluster(named: readonly Node[], common: CommonOptions): CreatedClient {
  const nodes = [...named];
  const client = new Cluster([...nodes], clusterOptions(nodes, common));
  client.on('refresh', () => {
    const reported = client.nodes().map(({ options: { host = '', port = 0 } }) => ({ host, port }));
    const isNamed = (node: Node) => named.some(({ host, port }) => host === node.host && port === node.port);
    nodes.splice(named.length, nodes.length, ...reported.filter((node) => !isNamed(node)));
  });
  return { client, nodes };
}

function clusterOptions(nodes: readonly Node[], common: CommonOptions) {
  const { enableOfflineQueue: _queue, retryStrategy: _strategy, ...redisOptions } = common;
  return {
    lazyConnect: true,
    redisOptions,
    enableOfflineQueue: false,
    maxRedirections: REDIRECTIONS_MAX,
    // A command that was sent when its connection broke is not sent again.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: CLUSTER_RETRY_MS,
    retryDelayOnTryAgain: CLUSTER_RETRY_MS,
    slotsRefreshTimeout: common.connectTimeout,
    // A node that hangs does not report that another one has taken over its slots.
    slotsRefreshInterval: SLOTS_REFRESH_MS,
    // Each node looks up its own name. If ioredis looked up all names first, one unknown name would fail all nodes.
    dnsLookup: (host: string, found: (error: null, address: string) => void) => found(null, host),
    clusterRetryStrategy(this: { startupNodes: Node[] }, times: number) {
      this.startupNodes = [...nodes];
      return reconnectMs(times);
    },
  };
}

/** Opening a store fails when no sentinel knows the primary. Once it was found, the client looks for it without end. */
function createBehindSentinels(address: SentinelAddress, common: CommonOptions): Redis {
  let wasFound = false;
  const sentinelRetryStrategy = (times: number) => (wasFound ? reconnectMs(times) : null);
  const client = silenceSentinels(new Redis({ ...common, ...sentinelOptions(address), sentinelRetryStrategy }));
  client.once('ready', () => {
    wasFound = true;
  });
  return client;
}

export function sentinelOptions({ nodes, name, access, sentinelAccess: { username, password } }: SentinelAddress) {
  return {
    sentinels: [...nodes],
    name,
    ...(username === null ? {} : { sentinelUsername: username }),
    ...(password === null ? {} : { sentinelPassword: password }),
    // A sentinel that hangs still accepts connections. After this time the next one is asked.
    sentinelCommandTimeout: ANSWER_MS,
    // A primary that hangs never closes its connections. Only the sentinels report that another one was promoted.
    failoverDetector: true,
    // The default of a minute is too long when the primary hangs right after the sentinels were restarted.
    sentinelReconnectStrategy: reconnectMs,
    // Without these ioredis would talk to the primary and to the sentinels unencrypted.
    ...(access.isEncrypted ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
  } satisfies RedisOptions;
}

/** The connector that ioredis uses behind sentinels. Its type is not exported. */
interface SentinelConnector {
  connectToSentinel?(...args: readonly unknown[]): Redis;
}

/**
 * Behind sentinels ioredis opens connections of its own to detect failovers. It prints their errors to the console while a
 * sentinel is away, and offers no way to listen to them. This adds a listener. A sentinel that is away is reported when
 * the primary is looked for.
 */
export function silenceSentinels(client: Redis): Redis {
  const { connector } = client as unknown as { readonly connector: SentinelConnector };
  const connect = connector.connectToSentinel?.bind(connector);
  if (connect !== undefined) connector.connectToSentinel = (...args) => connect(...args).on('error', () => undefined);
  return client;
}

function reconnectMs(times: number): number {
  return Math.min(times * RECONNECT_STEP_MS, RECONNECT_MS_MAX);
}
