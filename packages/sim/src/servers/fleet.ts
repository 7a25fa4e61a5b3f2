import {
  answerJson,
  type Dice,
  type FakeBackend,
  openFakeBackend,
  ServerProcess,
  startValkey,
} from '@tidemark/testing/kit';
import { AdminClient } from '../processes/admin-client.ts';

export const FLEET_USERS = ['anna', 'bela'];
export const USER_PASSWORD = 'a password for devices';
const SECRET = 'shared with the backend';

export interface FleetOptions {
  readonly servers: number;
  readonly store: 'embedded' | 'valkey';
  readonly folder: string;
  readonly dice: Dice;
}

/** Several servers on one store, a load balancer that picks one at random, and the backend that they query. */
export class Fleet {
  readonly servers: readonly ServerProcess[];
  readonly queries: QueryChecker;
  readonly admin: AdminClient;
  readonly #dice: Dice;
  readonly #close: () => Promise<void>;

  private constructor(
    servers: readonly ServerProcess[],
    queries: QueryChecker,
    dice: Dice,
    close: () => Promise<void>,
  ) {
    this.servers = servers;
    this.queries = queries;
    this.admin = new AdminClient(() => this.pick().url);
    this.#dice = dice;
    this.#close = close;
  }

  static async open({ servers: count, store, folder, dice }: FleetOptions): Promise<Fleet> {
    const valkey = store === 'valkey' ? await startValkey() : null;
    const backend = await openFakeBackend(() => SECRET);
    const shared = { folder, ...(valkey === null ? {} : { address: valkey.address }) };
    const env = { TIDEMARK_BACKEND_SECRET: SECRET };
    const servers = Array.from({ length: count }, () => new ServerProcess({ ...shared, env }));
    const fleet = new Fleet(servers, new QueryChecker(backend, dice), dice, async () => {
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

  /** Returns a server that runs, as a load balancer would choose it. It may die at any moment. */
  pick(): ServerProcess {
    const running = this.servers.filter(({ isReady }) => isReady);
    return this.#dice.pick(running.length === 0 ? this.servers : running);
  }

  close(): Promise<void> {
    return this.#close();
  }

  async #populate(adapterUrl: string): Promise<void> {
    const { admin } = this;
    const [first, ...others] = this.servers;
    if (first === undefined) throw new Error('a fleet needs at least one server');
    await first.start();
    await Promise.all(others.map((server) => server.start()));
    await admin.logIn(first.adminPassword);
    await admin.call('POST', '/rc/v1/sources', { name: 'Order' });
    await admin.call('POST', '/rc/v1/sources', { name: 'Product', partition_type: 'app' });
    const stock = { name: 'Stock', partition_type: 'app', adapter: 'backend', poll_interval: 0 };
    await admin.call('POST', '/rc/v1/sources', stock);
    for (const login of FLEET_USERS) {
      await admin.call('POST', '/rc/v1/users', { attributes: { login, password: USER_PASSWORD } });
    }
    await admin.call('POST', '/rc/v1/system/appserver', { adapter_url: adapterUrl });
  }
}

const ANSWER_MS_MAX = 30;

/** Answers queries after a while, and checks that there is never more than one of a partition at a time. */
export class QueryChecker {
  readonly problems: string[] = [];
  /** How many queries arrived. */
  count = 0;
  readonly #open = new Map<string, number>();

  constructor(backend: FakeBackend, dice: Dice) {
    // The servers ask it about logins as well.
    backend.on('authenticate', (_, response) => answerJson(response, {}));
    backend.on('query', ({ body }, response) => {
      const partition = JSON.stringify([body.source, body.user_id]);
      const open = (this.#open.get(partition) ?? 0) + 1;
      this.count++;
      this.#open.set(partition, open);
      if (open > 1) this.problems.push(`${open} queries of ${partition} at once`);
      // The answer never changes: a change would make devices pull, and each pull would cause the next query.
      const answering = setTimeout(() => answerJson(response, { shovel: { n: 1 } }), dice.between(1, ANSWER_MS_MAX));
      // It closes with the answer, or with the death of the server that asked.
      response.once('close', () => {
        clearTimeout(answering);
        this.#open.set(partition, (this.#open.get(partition) ?? 1) - 1);
      });
    });
  }
}
