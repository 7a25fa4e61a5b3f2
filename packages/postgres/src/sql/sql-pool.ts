import { Client, type ClientConfig, Pool } from 'pg';

const IDLE_MS_MAX = 60_000;
/** How long work may go on when the pool ends. */
const END_MS = 1_000;

/** A connection that one piece of work has for itself. */
export interface Lease {
  readonly client: Client;
  /** Whether others may have the connection next. One whose last statement failed may be broken. */
  isSound: boolean;
}

export interface SqlPoolOptions {
  /** How many are open at most. */
  readonly connections: number;
  readonly endMs?: number | undefined;
}

/** Connections to one database. A lost one makes the work that has it fail, and nothing else. */
export class SqlPool {
  readonly #pool: Pool;
  readonly #endMs: number;
  readonly #clients = new Set<Client>();
  readonly #running = new Set<Promise<unknown>>();
  #isBroken = false;
  #ended: Promise<void> | null = null;

  constructor(config: ClientConfig, { connections, endMs = END_MS }: SqlPoolOptions) {
    this.#endMs = endMs;
    const register = (client: Client) => this.#register(client);
    // With a configuration of their own: the timeout in the pool's would also limit the wait for a free connection.
    class PooledClient extends Client {
      constructor() {
        super(config);
        register(this);
      }
    }
    this.#pool = new Pool({ max: connections, idleTimeoutMillis: IDLE_MS_MAX, Client: PooledClient });
    // An idle connection was lost. The pool has removed it.
    this.#pool.on('error', () => undefined);
  }

  run<Result>(work: (lease: Lease) => Promise<Result>): Promise<Result> {
    if (this.#ended !== null) return Promise.reject(new Error('the connections to the database were ended'));
    const running = this.#run(work);
    this.#running.add(running);
    const forget = () => void this.#running.delete(running);
    running.then(forget, forget);
    return running;
  }

  /** Waits a moment for what runs, and then makes it fail. */
  end(): Promise<void> {
    this.#ended ??= this.#end();
    return this.#ended;
  }

  async #run<Result>(work: (lease: Lease) => Promise<Result>): Promise<Result> {
    const client = await this.#pool.connect();
    const lease: Lease = { client, isSound: false };
    try {
      return await work(lease);
    } finally {
      client.release(!lease.isSound);
    }
  }

  async #end(): Promise<void> {
    const settled = Promise.allSettled(this.#running);
    if (!(await isWithin(this.#endMs, settled))) {
      this.#break();
      // Work may also wait for something else than the database.
      await isWithin(this.#endMs, settled);
    }
    const closed = [...this.#clients].map((client) => new Promise((resolve) => client.once('end', resolve)));
    if (!(await isWithin(this.#endMs, Promise.all([this.#pool.end(), ...closed])))) this.#break();
  }

  #break(): void {
    this.#isBroken = true;
    for (const client of this.#clients) client.connection.stream.destroy();
  }

  #register(client: Client): void {
    this.#clients.add(client);
    client.once('end', () => this.#clients.delete(client));
    // A statement that runs hears of it as well.
    client.on('error', () => undefined);
    // It begins to connect at once, and work that waits for it fails.
    if (this.#isBroken) process.nextTick(() => client.connection.stream.destroy());
  }
}

async function isWithin(ms: number, work: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), ms);
  });
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}
