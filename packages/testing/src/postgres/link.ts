import { TidemarkClient } from '@tidemark/backend';
import {
  Connector,
  type ConnectorEvents,
  type ConnectorOptions,
  type ConnectorState,
  type Mapping,
  parseDatabaseUrl,
  type RowProblem,
  stateDocument,
  type TableProgress,
} from '@tidemark/postgres';
import { afterAll, beforeAll, expect, onTestFinished } from 'vitest';
import { type PostgresDatabase, type PostgresServer, startPostgres } from '../kit/postgres-server.ts';
import { startTestServer, type TestServer } from '../kit/test-server.ts';

const WAIT = { timeout: 120_000, interval: 30 };

/** The servers that the tests of a file share. */
export interface Servers {
  readonly postgres: PostgresServer;
  readonly tidemark: TestServer;
}

/** Starts the servers before the tests of a file, and removes them after. The settings are those of Tidemark. */
export function useServers(changes: Partial<TestServer['config']> = {}): () => Servers {
  let servers: Servers | null = null;
  beforeAll(async () => {
    const settings = { max_replication_slots: '50', max_wal_senders: '50' };
    const [postgres, tidemark] = await Promise.all([startPostgres({ settings }), startTestServer(changes)]);
    servers = { postgres, tidemark };
  });
  afterAll(async () => {
    await servers?.tidemark.close();
    await servers?.postgres.remove();
  });
  return () => {
    if (servers === null) throw new Error('the servers are started before the tests');
    return servers;
  };
}

export type Tables = Pick<Mapping, 'tables'> & Partial<Mapping>;
export type Objects = Readonly<Record<string, Readonly<Record<string, unknown>>>>;
/** Source, then owner: `shared`, or the name of a user or a group. */
export type Partitions = Readonly<Record<string, Readonly<Record<string, Objects>>>>;

let links = 0;

/** A database, a mapping and a connector between it and Tidemark, which can be stopped and started again. */
export class Link {
  readonly name: string;
  readonly database: PostgresDatabase;
  readonly client: TidemarkClient;
  readonly progress: TableProgress[] = [];
  readonly problems: RowProblem[] = [];
  readonly heals: string[] = [];
  /** Called with every position that is stored. */
  onPosition: (position: string) => void = () => undefined;
  readonly #own: (name: string) => string;
  #mapping: Tables;
  #connector: Connector | null = null;
  #run: Promise<void> = Promise.resolve();
  #failure: unknown = null;

  constructor({ tidemark }: Servers, database: PostgresDatabase, mapping: Tables) {
    this.name = `c${links}`;
    this.#own = (name) => `${name}_${this.name}`;
    this.database = database;
    this.client = new TidemarkClient({ url: tidemark.url, token: tidemark.token });
    this.#mapping = mapping;
  }

  /** Sources, users and groups have names of their own in each test, because tests share a server. */
  own(name: string): string {
    return this.#own(name);
  }

  get mapping(): Mapping {
    const slot = `slot_${this.name}`;
    return { publication: 'tidemark', slot, members: {}, users: {}, ...this.#mapping };
  }

  start(changes: Partial<ConnectorOptions> = {}, mapping: Tables = this.#mapping): void {
    this.#mapping = mapping;
    const events: ConnectorEvents = {
      onProgress: (progress) => this.progress.push(progress),
      onProblem: (problem) => this.problems.push(problem),
      onHeal: (reason) => this.heals.push(reason),
      onPosition: (position) => this.onPosition(position),
    };
    this.#connector = new Connector({
      ...{ client: this.client, name: this.name, address: parseDatabaseUrl(this.database.url), events },
      // Heartbeats come often, so that nobody waits for them.
      heartbeatMs: 200,
      ...{ mapping: this.mapping, mappingFile: 'mapping.jsonc' },
      ...changes,
    });
    this.#failure = null;
    this.#run = this.#connector.runOnce().catch((error: unknown) => {
      this.#failure = error;
    });
  }

  async stop(): Promise<void> {
    await this.#connector?.stop();
    await this.#run;
  }

  /** Waits until the connector ends, and returns why; null: it was stopped. */
  async ended(): Promise<unknown> {
    await this.#run;
    return this.#failure;
  }

  async sql(...statements: readonly string[]): Promise<void> {
    for (const statement of statements) await this.database.sql.unsafe(statement);
  }

  /** Creates users; returns their logins. */
  async users(...names: readonly string[]): Promise<void> {
    for (const name of names) await this.client.users.create({ login: this.own(name), password: 'kelp-forest-9341' });
  }

  async state(): Promise<ConnectorState> {
    return JSON.parse(String(await this.client.documents.read('server', stateDocument(this.name)))) as ConnectorState;
  }

  /** Waits until all tables are copied. */
  async copied(): Promise<void> {
    const phases = async () => {
      this.throwFailure();
      const state = await this.state().catch(() => null);
      return new Set(Object.values(state?.tables ?? {}).map(({ phase }) => phase.name));
    };
    await expect.poll(phases, WAIT).toEqual(new Set(['ready']));
  }

  /** Waits until Tidemark has exactly these objects in these partitions. */
  async holds(partitions: Partitions): Promise<void> {
    await expect.poll(() => this.read(partitions), WAIT).toEqual(partitions);
  }

  /** Waits until each of the partitions has exactly what the statement says in `owner`, `id` and `attributes`. */
  async equals(source: string, owners: readonly string[], statement: string): Promise<void> {
    const isEqual = async () => {
      const expected: Record<string, Record<string, unknown>> = Object.fromEntries(owners.map((owner) => [owner, {}]));
      for (const { owner, id, attributes } of await this.database.sql.unsafe(statement)) {
        const whose = expected[String(owner)];
        if (whose !== undefined) whose[String(id)] = attributes;
      }
      const wanted = { [source]: expected } as Partitions;
      const found = await this.read(wanted);
      return JSON.stringify(sorted(found)) === JSON.stringify(sorted(wanted)) ? 'equal' : { found, wanted };
    };
    await expect.poll(isEqual, WAIT).toBe('equal');
  }

  async read(partitions: Partitions): Promise<Partitions> {
    this.throwFailure();
    const found: Record<string, Record<string, Objects>> = {};
    for (const [source, owners] of Object.entries(partitions)) {
      const type = await this.#typeOf(source);
      found[source] = {};
      for (const owner of Object.keys(owners)) {
        const whose = type === 'app' ? ({ shared: true } as const) : { [type]: this.own(owner) };
        const call = { source: this.own(source), ...whose } as { source: string; shared: true };
        found[source][owner] = (await this.client.documents.read(call, 'md').catch(() => ({}))) as Objects;
      }
    }
    return found;
  }

  async #typeOf(source: string): Promise<'app' | 'user' | 'group'> {
    const found = await this.client.sources.get(this.own(source)).catch(() => null);
    return (found?.partition_type ?? 'app') as 'app' | 'user' | 'group';
  }

  /** Throws why the connector has ended; a poll that waits for what it would have done says so then. */
  throwFailure(): void {
    if (this.#failure !== null) throw this.#failure;
  }
}

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
  const entries = Object.entries(value).map(([name, one]) => [name, sorted(one)] as const);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Makes a database with these tables and a connector for it, which is stopped after the test. */
export async function openLink(
  servers: Servers,
  statements: readonly string[],
  mapping: (own: (name: string) => string) => Tables,
): Promise<Link> {
  const database = await servers.postgres.createDatabase();
  links++;
  const name = `c${links}`;
  const own = (word: string) => `${word}_${name}`;
  const link = new Link(servers, database, mapping(own));
  for (const statement of statements)
    await database.sql.unsafe(statement.replaceAll(/@(\w+)/g, (_, word) => own(word)));
  await database.sql.unsafe('CREATE PUBLICATION tidemark FOR ALL TABLES');
  onTestFinished(() => link.stop());
  return link;
}
