import { Cluster, Redis, type RedisOptions } from 'ioredis';
import type { Access, Address, Node } from './address.ts';
import { type Confirmation, ConfirmedWrites, confirmed, isAsked } from './confirming.ts';
import { failureOf, unavailable } from './failure.ts';
import { quietWatchers } from './quiet-watchers.ts';
import type { Script } from './scripts/script.ts';
import { WhyUnopened } from './why-unopened.ts';
import type { Argument, Reply } from './wire.ts';

/** Lets others have their turn. */
export const betweenTurns = () => new Promise<void>((resolve) => setImmediate(resolve));

export interface LinkOptions {
  readonly address: Address;
  /** By which the server is to know the connection. */
  readonly name?: string;
  /** How long the server may take to answer. */
  readonly answerMs?: number;
  /** What must be so before a write is acknowledged. Absent: that the primary has done it. */
  readonly confirmation?: Confirmation;
  /** Told of connections lost and found again. */
  readonly onEvent?: (event: LinkEvent) => void;
}

export interface LinkEvent {
  readonly kind: 'lost' | 'ready';
  readonly reason: string;
}

const ANSWER_MS = 1_500;
const CONNECT_MS = 1_000;
/** Beyond it a connection that is being made is given up. What is asked has a shorter time of its own. */
const HANDSHAKE_MS = 10_000;
/** What a large write adds to the time it may take. */
const BYTES_PER_MS = 2_000;
const RECONNECT_MS_MAX = 500;
const RECONNECT_STEP_MS = 50;
/** Commands waiting for an answer, and their bytes: beyond it callers are told at once. */
const IN_FLIGHT_MAX = 20_000;
const IN_FLIGHT_BYTES_MAX = 256 * 2 ** 20;
const REDIRECTIONS_MAX = 10;
const CLUSTER_RETRY_MS = 100;
const CLUSTER_LOOK_EVERY_MS = 2_000;
/** Keys a server looks at in one step. */
const SCAN_COUNT = 1_000;

/**
 * The way to the server or the cluster. Nothing is sent twice by itself: what was sent when a connection broke may have
 * been done or not, and only the caller can know whether to ask again. Nothing waits for a connection to come back.
 */
export class Link {
  readonly isOneNode: boolean;
  /** Those the address names; of a cluster, also those that were learnt of last. */
  readonly nodes: readonly Node[];
  readonly #client: Redis | Cluster;
  readonly #confirmation: Confirmation;
  /** Where writes are waited for, unless that is done in a cluster. */
  readonly #confirming: { readonly client: Redis; readonly writes: ConfirmedWrites } | null;
  readonly #answerMs: number;
  readonly #name: string | undefined;
  #inFlight = 0;
  #inFlightBytes = 0;
  #isGathering = false;
  #isClosed = false;

  private constructor({ client, nodes }: Way, options: LinkOptions) {
    this.#client = client;
    this.nodes = nodes;
    this.isOneNode = client instanceof Redis;
    this.#confirmation = options.confirmation ?? { replicas: 0, isOnDisk: false };
    this.#answerMs = options.answerMs ?? ANSWER_MS;
    this.#confirming = this.#openConfirming(client);
    this.#name = options.name;
    const tell = options.onEvent ?? (() => undefined);
    client.on('error', (error: Error) => tell({ kind: 'lost', reason: error.message }));
    client.on('ready', () => tell({ kind: 'ready', reason: '' }));
    this.#keepTrying(client);
    if (this.#confirming !== null) this.#keepTrying(this.#confirming.client);
  }

  /**
   * A client that hears of a failover while it is already looking for the new primary gives up for good, which is not
   * for it to decide.
   */
  #keepTrying(client: Redis | Cluster): void {
    client.on('end', () => {
      const again = () => {
        if (!this.#isClosed) client.connect().catch(() => undefined);
      };
      setTimeout(again, RECONNECT_MS_MAX).unref();
    });
  }

  static async open(options: LinkOptions): Promise<Link> {
    const way = wayTo(options.address, options.name);
    const { client } = way;
    const link = new Link(way, options);
    const why = new WhyUnopened(client);
    try {
      await client.connect();
      await link.#confirming?.client.connect();
      return link;
    } catch (error) {
      link.close();
      // Not the error itself: one that was answered to a login carries what was sent, the password as well.
      throw new Error(why.sentence(error as Error));
    } finally {
      why.end();
    }
  }

  /** Runs a script. The first key decides where. */
  async run(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    return this.#guarded(sizeOf(args), async () => {
      try {
        return await this.#evaluate('EVALSHA', script.sha, keys, args);
      } catch (error) {
        if (!isMissingScript(error)) throw error;
        return this.#evaluate('EVAL', script.text, keys, args);
      }
    });
  }

  /** Runs a script that writes, and waits until it is confirmed as was asked for. */
  async write(script: Script, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    if (!isAsked(this.#confirmation)) return this.run(script, keys, args);
    return this.#guarded(sizeOf(args), async () => {
      try {
        return await this.#evaluateAndWait('EVALSHA', script.sha, keys, args);
      } catch (error) {
        if (!isMissingScript(error)) throw error;
        return this.#evaluateAndWait('EVAL', script.text, keys, args);
      }
    });
  }

  /** Runs a command on the node that the key lies on. */
  async command(name: string, key: string, ...args: readonly Argument[]): Promise<Reply> {
    return this.#guarded(sizeOf(args), () => this.#client.callBuffer(name, key, ...args) as Promise<Reply>);
  }

  /** Runs a command on every primary. */
  async everywhere(name: string, ...args: readonly string[]): Promise<readonly Reply[]> {
    const nodes = this.#client instanceof Redis ? [this.#client] : this.#client.nodes('master');
    return Promise.all(nodes.map((node) => this.#guarded(0, () => node.callBuffer(name, ...args) as Promise<Reply>)));
  }

  /** Keys that begin with the prefix, on every primary, a bounded number at a time. Some may come twice. */
  async *scan(prefix: string): AsyncIterable<readonly string[]> {
    const nodes = this.#client instanceof Redis ? [this.#client] : this.#client.nodes('master');
    const pattern = `${prefix.replace(/[?*[\]^\\]/g, '\\$&')}*`;
    for (const node of nodes) {
      let cursor = '0';
      do {
        const ask = () => node.callBuffer('SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT) as Promise<Reply>;
        const [next, keys] = (await this.#guarded(0, ask)) as readonly [Buffer, readonly Buffer[]];
        cursor = next.toString('latin1');
        yield keys.map((key) => key.toString('utf8'));
      } while (cursor !== '0');
    }
  }

  /** Connections of the same name beside our own; null when a server does not tell. */
  async others(): Promise<number | null> {
    const nodes = this.#client instanceof Redis ? [this.#client] : this.#client.nodes('master');
    let count = 0;
    for (const node of nodes) {
      const listed = await this.#listed(node);
      if (listed === null) return null;
      count += listed.clients.filter(({ id, name }) => name === this.#name && !listed.own.includes(id ?? '')).length;
    }
    return count;
  }

  async #listed(
    node: Redis,
  ): Promise<{ readonly own: readonly string[]; readonly clients: readonly NamedClient[] } | null> {
    try {
      const mine = this.#confirming === null ? [node] : [node, this.#confirming.client];
      const own = await Promise.all(mine.map(async (client) => String(await client.call('CLIENT', 'ID'))));
      const lines = String(await node.call('CLIENT', 'LIST')).split('\n');
      return { own, clients: lines.map(clientIn) };
    } catch {
      return null;
    }
  }

  close(): void {
    this.#isClosed = true;
    this.#client.disconnect();
    this.#confirming?.client.disconnect();
  }

  async #guarded<T>(bytes: number, send: () => Promise<T>): Promise<T> {
    if (this.#inFlight >= IN_FLIGHT_MAX || this.#inFlightBytes + bytes > IN_FLIGHT_BYTES_MAX) {
      throw unavailable('too much is waiting for its answer');
    }
    this.#inFlight += 1;
    this.#inFlightBytes += bytes;
    this.#gather();
    try {
      return await this.#inTime(bytes, send());
    } catch (error) {
      throw failureOf(error);
    } finally {
      this.#inFlight -= 1;
      this.#inFlightBytes -= bytes;
    }
  }

  /** What is asked in one turn leaves in one go: the way out costs more than what is carried. */
  #gather(): void {
    if (this.#isGathering) return;
    this.#isGathering = true;
    const nodes = this.#client instanceof Redis ? [this.#client] : this.#client.nodes('master');
    // A connection that was never made has no stream yet.
    const streams = nodes.flatMap(({ stream }) => (stream as typeof stream | undefined) ?? []);
    for (const stream of streams) stream.cork();
    process.nextTick(() => {
      this.#isGathering = false;
      for (const stream of streams) stream.uncork();
    });
  }

  /**
   * An answer that is late is not waited for; what was asked may still be done. A large write may take longer, by what
   * it takes to carry and to apply.
   */
  async #inTime<T>(bytes: number, answer: Promise<T>): Promise<T> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      const limitMs = this.#answerMs + bytes / BYTES_PER_MS;
      timer = setTimeout(() => reject(unavailable('it did not answer in time')), limitMs);
    });
    try {
      return await Promise.race([answer, late]);
    } finally {
      clearTimeout(timer);
      // Nobody waits any more for an answer that came too late, not even for its failure.
      answer.catch(() => undefined);
    }
  }

  #evaluate(
    command: 'EVAL' | 'EVALSHA',
    script: string,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<Reply> {
    return this.#client.callBuffer(command, flat(script, keys, args)) as Promise<Reply>;
  }

  /** In a cluster the write and the wait for it travel together to the node that has the key. */
  async #evaluateAndWait(
    command: 'EVAL' | 'EVALSHA',
    script: string,
    keys: readonly string[],
    args: readonly Argument[],
  ): Promise<Reply> {
    const write = [command, ...flat(script, keys, args)];
    if (this.#confirming !== null) return this.#confirming.writes.run(write);
    const [outcome] = await confirmed(this.#client, [write], this.#confirmation, this.#confirmMs());
    const [error, reply] = outcome ?? [unavailable('the connection was lost'), null];
    if (error !== null) throw error;
    return reply;
  }

  #openConfirming(client: Redis | Cluster): { readonly client: Redis; readonly writes: ConfirmedWrites } | null {
    if (client instanceof Cluster || !isAsked(this.#confirmation)) return null;
    const own = quietWatchers(client.duplicate());
    // What is wrong with it is wrong with the other one as well, which tells.
    own.on('error', () => undefined);
    return { client: own, writes: new ConfirmedWrites(own, this.#confirmation, this.#confirmMs()) };
  }

  /** A disk may take longer than replicas: some servers flush every second only. Whoever waits has to be told in time. */
  #confirmMs(): number {
    return Math.ceil(this.#answerMs * (this.#confirmation.isOnDisk ? 0.9 : 0.5));
  }
}

type SentinelAddress = Extract<Address, { readonly kind: 'sentinel' }>;

interface NamedClient {
  readonly id: string | undefined;
  readonly name: string | undefined;
}

function clientIn(line: string): NamedClient {
  return { id: /(?:^| )id=(\d+)/.exec(line)?.[1], name: / name=(\S*)/.exec(line)?.[1] };
}

/** A client, and the nodes at which it looks for its way when it has lost it. */
interface Way {
  readonly client: Redis | Cluster;
  readonly nodes: readonly Node[];
}

function wayTo(address: Address, name: string | undefined): Way {
  const common = commonOptions(address.access, name);
  if (address.kind === 'cluster') return clusterWay(address.nodes, common);
  if (address.kind === 'sentinel') return { client: sentinelClient(address, common), nodes: address.nodes };
  const { node, access } = address;
  return { client: new Redis({ ...common, ...node, db: access.database }), nodes: [node] };
}

/** Those that an address names may be gone while the cluster lives on: what is learnt of others is remembered. */
function clusterWay(named: readonly Node[], common: CommonOptions): Way {
  const nodes = [...named];
  const client = clusterClient(nodes, common);
  client.on('refresh', () => {
    const learnt = client.nodes().map(({ options: { host = '', port = 0 } }) => ({ host, port }));
    const isNamed = (node: Node) => named.some(({ host, port }) => host === node.host && port === node.port);
    nodes.splice(named.length, nodes.length, ...learnt.filter((node) => !isNamed(node)));
  });
  return { client, nodes };
}

function clusterClient(nodes: readonly Node[], common: CommonOptions): Cluster {
  const { enableOfflineQueue: _queue, retryStrategy: _strategy, ...redisOptions } = common;
  return new Cluster([...nodes], {
    lazyConnect: true,
    redisOptions,
    enableOfflineQueue: false,
    maxRedirections: REDIRECTIONS_MAX,
    // What was sent when a connection broke is not sent again.
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: CLUSTER_RETRY_MS,
    retryDelayOnTryAgain: CLUSTER_RETRY_MS,
    slotsRefreshTimeout: CONNECT_MS,
    // A node that hangs says nothing, not even that another one has its slots by now.
    slotsRefreshInterval: CLUSTER_LOOK_EVERY_MS,
    // Names are looked up node by node. Looked up before, one that is known no more would keep all others from being tried.
    dnsLookup: (host, found) => found(null, host),
    clusterRetryStrategy(this: { startupNodes: Node[] }, times: number) {
      this.startupNodes = [...nodes];
      return reconnectMs(times);
    },
  });
}

type CommonOptions = ReturnType<typeof commonOptions>;

function commonOptions(access: Access, name: string | undefined) {
  return {
    ...(name === undefined ? {} : { connectionName: name }),
    ...accessOptions(access),
    lazyConnect: true,
    protocol: 2 as const,
    connectTimeout: CONNECT_MS,
    commandTimeout: HANDSHAKE_MS,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    // A primary that was demoted is to be left, so that the new one is found.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    retryStrategy: reconnectMs,
  } satisfies RedisOptions;
}

/** Whoever opens a store is told when nobody knows its primary. Once found, it is looked for as long as it takes. */
function sentinelClient(address: SentinelAddress, common: CommonOptions): Redis {
  let wasFound = false;
  const sentinelRetryStrategy = (times: number) => (wasFound ? reconnectMs(times) : null);
  const client = quietWatchers(new Redis({ ...common, ...sentinelOptions(address), sentinelRetryStrategy }));
  client.once('ready', () => {
    wasFound = true;
  });
  return client;
}

function reconnectMs(times: number): number {
  return Math.min(times * RECONNECT_STEP_MS, RECONNECT_MS_MAX);
}

/** How to find the primary by its sentinels, in the words of the client. */
export function sentinelOptions({ nodes, name, access, sentinelAccess: { username, password } }: SentinelAddress) {
  return {
    sentinels: [...nodes],
    name,
    ...(username === null ? {} : { sentinelUsername: username }),
    ...(password === null ? {} : { sentinelPassword: password }),
    // A sentinel that hangs takes connections all the same: then the next one is asked.
    sentinelCommandTimeout: ANSWER_MS,
    // One that hangs never closes its connections: only the sentinels tell that there is another one.
    failoverDetector: true,
    // A minute, which the client would let pass, is long when the primary hangs right after the sentinels were restarted.
    sentinelReconnectStrategy: reconnectMs,
    // Otherwise the client would speak to all of them in the clear.
    ...(access.isEncrypted ? { enableTLSForSentinelMode: true, sentinelTLS: {} } : {}),
  } satisfies RedisOptions;
}

/** How to log in, in the words of the client. */
export function accessOptions({ username, password, isEncrypted }: Access) {
  return {
    ...(username === null ? {} : { username }),
    ...(password === null ? {} : { password }),
    ...(isEncrypted ? { tls: {} } : {}),
  };
}

/** One list, since a large write has more arguments than a function can take. */
function flat(script: string, keys: readonly string[], args: readonly Argument[]): Argument[] {
  return [script, keys.length, ...keys, ...args];
}

function isMissingScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}

function sizeOf(args: readonly Argument[]): number {
  let bytes = 0;
  for (const arg of args) bytes += typeof arg === 'number' ? 8 : arg.length;
  return bytes;
}
