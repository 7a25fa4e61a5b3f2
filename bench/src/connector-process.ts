import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Mapping, TablePhase } from '@tidemark/postgres';

/** A connector in a process of its own, as `tidemark connect postgres` runs it, so that its memory is its own. */
export interface ConnectorProcess {
  /** Resolves when the stream has begun, at the latest reading of the clock that all processes share. */
  streaming(): Promise<number>;
  /** When all these tables are copied. */
  copied(tables: readonly string[]): Promise<number>;
  /** When everything up to a position of the log is durable in Tidemark. */
  durable(lsn: string): Promise<number>;
  /** The most that was resident at any time until now. */
  peakBytes(): Promise<number>;
  stop(): Promise<void>;
}

export interface ConnectorOrder {
  readonly url: string;
  readonly token: string;
  readonly name: string;
  readonly databaseUrl: string;
  readonly mapping: Mapping;
}

type Message =
  | { readonly kind: 'streaming'; readonly atMs: number }
  | { readonly kind: 'failed'; readonly reason: string }
  | { readonly kind: 'phase'; readonly table: string; readonly phase: TablePhase['name']; readonly atMs: number }
  | { readonly kind: 'position'; readonly lsn: string; readonly atMs: number }
  | { readonly kind: 'peak'; readonly bytes: number };

const BYTES_PER_KIB = 1_024;

export function startConnectorProcess(order: ConnectorOrder): ConnectorProcess {
  const child = fork(fileURLToPath(import.meta.url));
  child.send(order);
  const news = new News(child);
  return {
    streaming: () => news.until(({ streamingAtMs }) => streamingAtMs),
    copied: (tables) =>
      news.until(({ readyAtMs }) => {
        const times = tables.map((table) => readyAtMs.get(table));
        return times.every((time) => time !== undefined) ? Math.max(...times) : null;
      }),
    durable: (lsn) =>
      news.until(({ position }) => (positionOf(position.lsn) >= positionOf(lsn) ? position.atMs : null)),
    async peakBytes() {
      child.send('peak');
      return news.until(({ takePeak }) => takePeak());
    },
    async stop() {
      const exited = once(child, 'exit');
      child.send('stop');
      await exited;
    },
  };
}

/** What the child has said until now. */
class News {
  streamingAtMs: number | null = null;
  readonly readyAtMs = new Map<string, number>();
  position = { lsn: '0/0', atMs: 0 };
  #peakBytes: number | null = null;
  #failure: Error | null = null;
  #listeners = new Set<() => void>();

  constructor(child: ChildProcess) {
    child.on('message', (message: Message) => this.#take(message));
    child.once('exit', (code) => this.#fail(`the connector ended with ${code}`));
  }

  readonly takePeak = (): number | null => {
    const bytes = this.#peakBytes;
    this.#peakBytes = null;
    return bytes;
  };

  until<T>(look: (news: News) => T | null): Promise<T> {
    return new Promise((resolve, reject) => {
      const listener = () => {
        if (this.#failure !== null) return reject(this.#failure);
        const found = look(this);
        if (found === null) return;
        this.#listeners.delete(listener);
        resolve(found);
      };
      this.#listeners.add(listener);
      listener();
    });
  }

  #take(message: Message): void {
    if (message.kind === 'streaming') this.streamingAtMs = message.atMs;
    if (message.kind === 'phase' && message.phase === 'ready') this.readyAtMs.set(message.table, message.atMs);
    if (message.kind === 'position') this.position = message;
    if (message.kind === 'peak') this.#peakBytes = message.bytes;
    if (message.kind === 'failed') this.#fail(message.reason);
    else for (const listener of this.#listeners) listener();
  }

  #fail(reason: string): void {
    this.#failure ??= new Error(reason);
    for (const listener of this.#listeners) listener();
  }
}

/** The number of a position such as `1/AB`. */
function positionOf(lsn: string): bigint {
  const [high = '', low = ''] = lsn.split('/');
  return (BigInt(`0x${high}`) << 32n) | BigInt(`0x${low}`);
}

/** In the child. */
async function run(order: ConnectorOrder): Promise<void> {
  const { Connector, parseDatabaseUrl } = await import('@tidemark/postgres');
  const { TidemarkClient } = await import('@tidemark/backend');
  const say = (message: Message) => process.send?.(message);
  const nowMs = () => performance.timeOrigin + performance.now();
  const { url, token, name, databaseUrl, mapping } = order;
  const connector = new Connector({
    client: new TidemarkClient({ url, token }),
    ...{ name, mapping, address: parseDatabaseUrl(databaseUrl), mappingFile: 'the mapping of the benchmark' },
    events: {
      onState: (state, error) => {
        if (state === 'streaming') say({ kind: 'streaming', atMs: nowMs() });
        if (error !== undefined) say({ kind: 'failed', reason: `the connector failed: ${error.message}` });
      },
      onProgress: ({ table, phase }) => say({ kind: 'phase', table, phase, atMs: nowMs() }),
      onPosition: (lsn) => say({ kind: 'position', lsn, atMs: nowMs() }),
      onProblem: ({ table, key, reason }) => say({ kind: 'failed', reason: `${table} ${key}: ${reason}` }),
    },
  });
  process.on('message', (message) => {
    if (message === 'peak') say({ kind: 'peak', bytes: process.resourceUsage().maxRSS * BYTES_PER_KIB });
    if (message === 'stop') void connector.stop();
  });
  await connector.run();
  process.disconnect();
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) {
  process.once('message', (order: ConnectorOrder) => void run(order));
}
