import { Cluster, Redis } from 'ioredis';
import type { Address, Node } from './address.ts';
import { CallsInFlight } from './calls-in-flight.ts';
import { type Confirmation, ConfirmedWrites, confirmed, isRequested } from './confirmed-writes.ts';
import { type ConnectionEvent, reportConnection } from './connection-events.ts';
import { ANSWER_MS, type CreatedClient, createClient, RECONNECT_MS_MAX, silenceSentinels } from './create-client.ts';
import { unavailable } from './failure.ts';
import type { Layout } from './layout.ts';
import { OpenErrors } from './open-error.ts';
import type { RunnableScript } from './scripts/script.ts';
import { SilenceWatch } from './silence-watch.ts';
import { StoreClock } from './store-clock.ts';
import type { Argument, Reply } from './wire.ts';

export interface ConnectionOptions {
  readonly address: Address;
  /** The name of the connection that `CLIENT LIST` shows. */
  readonly name?: string;
  /** How long the server may take to reply. */
  readonly answerMs?: number;
  /** What must be confirmed before a write is acknowledged. Default: that the primary has applied it. */
  readonly confirmation?: Confirmation;
  /** Called when the connection is open, when it is lost, and when it is back. */
  readonly onEvent?: (event: ConnectionEvent) => void;
}

/** A connection, and the names of the keys of one store there. */
export interface Keyspace {
  readonly connection: Connection;
  readonly layout: Layout;
}

/** Calls in a row without a byte after which a connection is given up. */
const SILENT_CALLS_MAX = 3;
/** Keys that the server looks at in one step of a scan. */
const SCAN_COUNT = 1_000;

/**
 * The connection to a server or a cluster. It reconnects by itself for as long as it is open.
 *
 * No command is sent twice: when a connection breaks, the server may or may not have run the commands on their way, and
 * only the caller knows whether to repeat them. No command waits for a lost connection either: it fails at once.
 */
export class Connection {
  readonly isOneNode: boolean;
  /** The nodes that the address names and, of a cluster, those that it reported last. */
  readonly nodes: readonly Node[];
  readonly #client: Redis | Cluster;
  readonly #confirmation: Confirmation;
  /** The connection for writes that wait for a confirmation; null in a cluster, and when none is requested. */
  readonly #confirmed: { readonly client: Redis; readonly writes: ConfirmedWrites } | null;
  readonly #answerMs: number;
  readonly #name: string | undefined;
  readonly #calls: CallsInFlight;
  readonly #silence = new SilenceWatch();
  readonly #clock: StoreClock;
  #isCorked = false;
  #isClosed = false;

  private constructor({ client, nodes }: CreatedClient, options: ConnectionOptions) {
    this.#client = client;
    this.nodes = nodes;
    this.isOneNode = client instanceof Redis;
    this.#confirmation = options.confirmation ?? { replicas: 0, isOnDisk: false };
    this.#answerMs = options.answerMs ?? ANSWER_MS;
    this.#confirmed = this.#createConfirmed(client);
    this.#name = options.name;
    this.#calls = new CallsInFlight(this.#answerMs, () => this.#checkSilence());
    this.#clock = new StoreClock({
      isOneNode: this.isOneNode,
      nodes: () => this.#primaries().map((node) => () => readTimeUs(node)),
    });
    const { onEvent = () => undefined } = options;
    reportConnection(client, { onEvent, failures: () => this.#calls.failures, isClosed: () => this.#isClosed });
    client.on('ready', () => void this.#clock.sample().catch(() => undefined));
    this.#reconnectAfterEnd(client);
    if (this.#confirmed !== null) this.#reconnectAfterEnd(this.#confirmed.client);
  }

  static async open(options: ConnectionOptions): Promise<Connection> {
    const created = createClient(options.address, options);
    const connection = new Connection(created, options);
    const errors = new OpenErrors(created.client);
    try {
      await connect(created.client);
      await connection.#confirmed?.client.connect();
      await connection.#clock.sample();
      return connection;
    } catch (error) {
      connection.close();
      // The error itself is dropped: the error of a failed login contains the password.
      throw new Error(errors.explain(error as Error));
    } finally {
      errors.stop();
    }
  }

  /** Runs a script on the node that holds the keys. */
  run(script: RunnableScript, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    return this.#evaluate(script, { keys, args }, ([name, ...rest]) => {
      return this.#client.callBuffer(String(name), rest) as Promise<Reply>;
    });
  }

  /** Runs a script that writes, and waits for the confirmation that was requested. */
  write(script: RunnableScript, keys: readonly string[], args: readonly Argument[]): Promise<Reply> {
    if (!isRequested(this.#confirmation)) return this.run(script, keys, args);
    return this.#evaluate(script, { keys, args }, (command) => this.#confirm(command));
  }

  /** Runs a command on the node that holds the key. */
  command(name: string, key: string, ...args: readonly Argument[]): Promise<Reply> {
    return this.#call(sizeOf(args), () => this.#client.callBuffer(name, key, ...args) as Promise<Reply>);
  }

  /** Runs a command on every primary. */
  everywhere(name: string, ...args: readonly string[]): Promise<readonly Reply[]> {
    return Promise.all(
      this.#primaries().map((node) => this.#call(0, () => node.callBuffer(name, ...args) as Promise<Reply>)),
    );
  }

  /** Iterates over the keys that begin with the prefix, on every primary. A key may come twice. */
  async *scan(prefix: string): AsyncIterable<readonly string[]> {
    const pattern = `${prefix.replace(/[?*[\]^\\]/g, '\\$&')}*`;
    for (const node of this.#primaries()) {
      let cursor = '0';
      do {
        const scan = () => node.callBuffer('SCAN', cursor, 'MATCH', pattern, 'COUNT', SCAN_COUNT) as Promise<Reply>;
        const [next, keys] = (await this.#call(0, scan)) as readonly [Buffer, readonly Buffer[]];
        cursor = next.toString('latin1');
        yield keys.map((key) => key.toString('utf8'));
      } while (cursor !== '0');
    }
  }

  /** How many other connections have the same name; null when a server does not tell. */
  async others(): Promise<number | null> {
    let count = 0;
    for (const node of this.#primaries()) {
      try {
        const mine = this.#confirmed === null ? [node] : [node, this.#confirmed.client];
        const own = await Promise.all(mine.map(async (client) => String(await client.call('CLIENT', 'ID'))));
        const clients = String(await node.call('CLIENT', 'LIST'))
          .split('\n')
          .map(clientIn);
        count += clients.filter(({ id, name }) => name === this.#name && !own.includes(id ?? '')).length;
      } catch {
        return null;
      }
    }
    return count;
  }

  /** The memory that all primaries use for their data; null: one of them does not tell. */
  async memoryBytes(): Promise<number | null> {
    let bytes = 0;
    for (const node of this.#primaries()) {
      const used = /^used_memory:(\d+)/m.exec(String(await node.call('INFO', 'memory').catch(() => '')))?.[1];
      if (used === undefined) return null;
      bytes += Number(used);
    }
    return bytes;
  }

  close(): void {
    this.#isClosed = true;
    this.#client.disconnect();
    this.#confirmed?.client.disconnect();
  }

  #primaries(): readonly Redis[] {
    return this.#client instanceof Redis ? [this.#client] : this.#client.nodes('master');
  }

  /** ioredis gives up for good when it learns of a failover while it is already looking for the new primary. */
  #reconnectAfterEnd(client: Redis | Cluster): void {
    client.on('end', () => {
      const reconnect = () => {
        if (!this.#isClosed) client.connect().catch(() => undefined);
      };
      setTimeout(reconnect, RECONNECT_MS_MAX).unref();
    });
  }

  /** Sends a script. One that writes does not run after the moment at which its caller is told that it has failed. */
  #evaluate(
    script: RunnableScript,
    { keys, args }: { readonly keys: readonly string[]; readonly args: readonly Argument[] },
    send: (command: Argument[]) => Promise<Reply>,
  ): Promise<Reply> {
    const attempt = (window: readonly Argument[]) =>
      withScript(script, (command, text) => send([command, text, keys.length, ...keys, ...window, ...args]));
    return this.#call(sizeOf(args), (endMs) =>
      script.effect === 'reads' ? attempt([]) : this.#clock.within(endMs, attempt),
    );
  }

  #call<T>(bytes: number, send: (endMs: number) => Promise<T>): Promise<T> {
    return this.#calls.run(bytes, (endMs) => {
      this.#cork();
      return send(endMs);
    });
  }

  #checkSilence(): void {
    const nodes = [...this.#primaries(), ...(this.#confirmed === null ? [] : [this.#confirmed.client])];
    this.#silence.check(nodes, (SILENT_CALLS_MAX - 1) * this.#answerMs + this.#calls.extraMs);
  }

  /** Commands of one turn of the event loop leave in one system call, which costs more than what it carries. */
  #cork(): void {
    if (this.#isCorked) return;
    this.#isCorked = true;
    // A client that was never connected has no stream yet.
    const streams = this.#primaries().flatMap(({ stream }) => (stream as typeof stream | undefined) ?? []);
    for (const stream of streams) stream.cork();
    process.nextTick(() => {
      this.#isCorked = false;
      for (const stream of streams) stream.uncork();
    });
  }

  /** In a cluster the write and the wait go together to the node that holds the keys. */
  async #confirm(write: Argument[]): Promise<Reply> {
    if (this.#confirmed !== null) return this.#confirmed.writes.run(write);
    const [outcome] = await confirmed(this.#client, [write], this.#confirmation, this.#confirmMs());
    const [error, reply] = outcome ?? [unavailable('the connection was lost'), null];
    if (error !== null) throw error;
    return reply;
  }

  #createConfirmed(client: Redis | Cluster): { readonly client: Redis; readonly writes: ConfirmedWrites } | null {
    if (client instanceof Cluster || !isRequested(this.#confirmation)) return null;
    const own = silenceSentinels(client.duplicate());
    // The other client has the same errors, and reports them.
    own.on('error', () => undefined);
    return { client: own, writes: new ConfirmedWrites(own, this.#confirmation, this.#confirmMs()) };
  }

  /** Less than the timeout of the call. A disk may take longer than replicas: some servers flush once a second. */
  #confirmMs(): number {
    return Math.ceil(this.#answerMs * (this.#confirmation.isOnDisk ? 0.9 : 0.5));
  }
}

/**
 * Connects, or fails. ioredis reconnects in the background to a cluster that is down, and its promise for the first attempt
 * then never settles, even when the cluster is back.
 */
async function connect(client: Redis | Cluster): Promise<void> {
  if (client instanceof Redis) return client.connect();
  let onClose = () => undefined as unknown;
  const closed = new Promise<never>((_, reject) => {
    onClose = () => reject(new Error('the cluster is down'));
    client.once('close', onClose);
  });
  try {
    await Promise.race([client.connect(), closed]);
  } finally {
    client.off('close', onClose);
  }
}

/** Sends the digest of a script, and its text if the server does not know it. */
async function withScript(
  { sha, text }: RunnableScript,
  evaluate: (command: 'EVAL' | 'EVALSHA', script: string) => Promise<Reply>,
): Promise<Reply> {
  try {
    return await evaluate('EVALSHA', sha);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return evaluate('EVAL', text);
  }
}

async function readTimeUs(node: Redis): Promise<number> {
  const [seconds = 0, micros = 0] = (await node.time()).map(Number);
  return seconds * 1_000_000 + micros;
}

function clientIn(line: string): { readonly id: string | undefined; readonly name: string | undefined } {
  return { id: /(?:^| )id=(\d+)/.exec(line)?.[1], name: / name=(\S*)/.exec(line)?.[1] };
}

function sizeOf(args: readonly Argument[]): number {
  let bytes = 0;
  for (const arg of args) bytes += typeof arg === 'number' ? 8 : arg.length;
  return bytes;
}
