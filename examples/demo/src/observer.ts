import type { TidemarkClient } from '@tidemark/backend';
import type { Row } from '@tidemark/example-field-service';
import type { ConnectedData } from './demo-data.ts';
import type { ServerState, TidemarkServer } from './tidemark-server.ts';

/** How far a device is: the seq it has acknowledged and the newest one, summed over its sources. */
interface Level {
  readonly tidemark: number;
  readonly head: number;
}

export interface DemoState {
  readonly server: ServerState;
  /** By client id. A device that Tidemark could not be asked about is missing. */
  readonly levels: Readonly<Record<string, Level>>;
  /** The work orders in the database. */
  readonly orders: readonly Row[];
}

interface Observed {
  readonly server: TidemarkServer;
  readonly tidemark: TidemarkClient;
  readonly data: ConnectedData;
}

const LOOK_MS = 400;

/** Looks at Tidemark and at the database for one open page, and tells it what is new. */
export class Observer {
  readonly #observed: Observed;
  readonly #clients: readonly string[];
  readonly #tell: (state: DemoState) => void;
  readonly #unsubscribe: () => void;
  readonly #stopping = new AbortController();
  #levels: DemoState['levels'] = {};
  /** Null: not read yet. */
  #orders: DemoState['orders'] | null = null;
  #last = '';
  #timer: NodeJS.Timeout | undefined;

  constructor(observed: Observed, clients: readonly string[], tell: (state: DemoState) => void) {
    this.#observed = observed;
    this.#clients = clients;
    this.#tell = tell;
    this.#unsubscribe = observed.server.onChange(() => this.#report());
    void this.#look();
  }

  stop(): void {
    this.#stopping.abort();
    this.#unsubscribe();
    clearTimeout(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#observed.server.state === 'running') {
      // A server that is killed at this moment answers nothing; the next look comes soon.
      const levels = await Promise.all(this.#clients.map((id) => this.#levelOf(id))).catch(() => []);
      if (levels.length > 0) this.#levels = Object.fromEntries(levels);
    }
    // A database that cannot be read at this moment is read again soon.
    this.#orders = await this.#observed.data.orders().catch(() => this.#orders);
    if (this.#stopping.signal.aborted) return;
    this.#report();
    this.#timer = setTimeout(() => void this.#look(), LOOK_MS);
  }

  async #levelOf(client: string): Promise<readonly [string, Level]> {
    const { sources } = await this.#observed.tidemark.clients.sync(client, { signal: this.#stopping.signal });
    const sum = (numbers: readonly (number | null)[]) => numbers.reduce<number>((all, one) => all + (one ?? 0), 0);
    const tidemark = sum(sources.map(({ acknowledged }) => acknowledged));
    return [client, { tidemark, head: sum(sources.map(({ head }) => head)) }];
  }

  #report(): void {
    if (this.#orders === null) return;
    const state = { server: this.#observed.server.state, levels: this.#levels, orders: this.#orders };
    const text = JSON.stringify(state);
    if (text === this.#last) return;
    this.#last = text;
    this.#tell(state);
  }
}
