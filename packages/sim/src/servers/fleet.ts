import { type Dice, FLEET_PASSWORD, FleetServer, openFakeBackend, startValkey } from '@tidemark/testing/kit';
import { QueryWatch } from './query-watch.ts';

export const FLEET_USERS = ['anna', 'bela'];
export const USER_PASSWORD = 'a password for devices';
const SECRET = 'shared with the backend';
const CALL_MS_MAX = 150_000;

export interface FleetOptions {
  readonly servers: number;
  readonly store: 'embedded' | 'valkey';
  readonly folder: string;
  readonly dice: Dice;
}

/** Servers on one store behind what stands for a load balancer, and the backend they ask. */
export class Fleet {
  readonly servers: readonly FleetServer[];
  readonly watch: QueryWatch;
  readonly #dice: Dice;
  readonly #close: () => Promise<void>;
  #token = '';

  private constructor(servers: readonly FleetServer[], watch: QueryWatch, dice: Dice, close: () => Promise<void>) {
    this.servers = servers;
    this.watch = watch;
    this.#dice = dice;
    this.#close = close;
  }

  static async open({ servers: count, store, folder, dice }: FleetOptions): Promise<Fleet> {
    const valkey = store === 'valkey' ? await startValkey() : null;
    const backend = await openFakeBackend(() => SECRET);
    const ground = { folder, ...(valkey === null ? {} : { address: valkey.address }) };
    const env = { TIDEMARK_BACKEND_SECRET: SECRET };
    const servers = Array.from({ length: count }, () => new FleetServer(ground, [], env));
    const fleet = new Fleet(servers, new QueryWatch(backend, dice), dice, async () => {
      await Promise.all(servers.map((server) => server.kill()));
      await backend.close();
      await valkey?.remove();
    });
    try {
      await fleet.#populate(backend.url);
    } catch (error) {
      await fleet.close();
      throw error;
    }
    return fleet;
  }

  /** A server that runs, as a load balancer would choose it; it may die at any moment. */
  pick(): FleetServer {
    const running = this.servers.filter(({ isReady }) => isReady);
    return this.#dice.pick(running.length === 0 ? this.servers : running);
  }

  /** Asks a server of its choice. Whoever calls must expect that it dies. */
  async call(method: string, path: string, body?: unknown): Promise<unknown> {
    const response = await fetch(new URL(path, this.pick().url), {
      method,
      headers: {
        'content-type': 'application/json',
        ...(this.#token === '' ? {} : { 'x-sync-api-token': this.#token }),
      },
      signal: AbortSignal.timeout(CALL_MS_MAX),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path} was answered ${response.status}: ${text}`);
    return response.headers.get('content-type')?.startsWith('application/json') ? JSON.parse(text) : text;
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #populate(adapterUrl: string): Promise<void> {
    await this.servers[0]?.start();
    await Promise.all(this.servers.slice(1).map((server) => server.start()));
    this.#token = String(await this.call('POST', '/rc/v1/system/login', { login: 'admin', password: FLEET_PASSWORD }));
    await this.call('POST', '/rc/v1/sources', { name: 'Order' });
    await this.call('POST', '/rc/v1/sources', { name: 'Product', partition_type: 'app' });
    const stock = { name: 'Stock', partition_type: 'app', adapter: 'backend', poll_interval: 0 };
    await this.call('POST', '/rc/v1/sources', stock);
    for (const login of FLEET_USERS) {
      await this.call('POST', '/rc/v1/users', { attributes: { login, password: USER_PASSWORD } });
    }
    await this.call('POST', '/rc/v1/system/appserver', { adapter_url: adapterUrl });
  }
}
