import { setTimeout as sleep } from 'node:timers/promises';
import { ConnectorDoor } from './connector-door.ts';
import type { ConnectorTerms } from './connector-line.ts';
import { ConnectorProcess } from './connector-process.ts';
import { Database, isOfStatement } from './database.ts';
import { mappingOf } from './mapping.ts';
import { Oracle } from './oracle.ts';
import type { PlantName } from './plants.ts';
import { PullingDevice } from './pulling-device.ts';
import { RowLedger } from './row-ledger.ts';
import { firstRows, LAST_ROWS, SCHEMA } from './schema.ts';
import { DEVICE_USERS, type MappingChoice, type PostgresHistory, type Process, SOURCES } from './step.ts';
import { DEVICE_PASSWORD, TidemarkSide } from './tidemark-side.ts';

const PULL_ATTEMPTS_MAX = 50;
const PAUSE_MS = 50;

/** The servers of a runner, which its histories use one after the other. */
export class Servers {
  readonly database: Database;
  readonly tidemark: TidemarkSide;
  /** Of histories that have begun; it makes their names differ. */
  count = 0;

  private constructor(database: Database, tidemark: TidemarkSide) {
    this.database = database;
    this.tidemark = tidemark;
  }

  static async open(): Promise<Servers> {
    const [database, tidemark] = await Promise.all([Database.open(), TidemarkSide.open()]);
    return new Servers(database, tidemark);
  }

  async close(): Promise<void> {
    await Promise.all([this.database.close(), this.tidemark.close()]);
  }
}

/** One history: a database of its own, the connector, devices, and what is known of them. */
export class HistoryRun {
  readonly history: PostgresHistory;
  readonly database: Database;
  readonly tidemark: TidemarkSide;
  readonly door: ConnectorDoor;
  readonly connector = new ConnectorProcess();
  readonly oracle: Oracle;
  readonly ledger: RowLedger;
  readonly devices: PullingDevice[] = [];
  readonly name: string;
  /** Why the connector may have to compare everything, one for each cause. */
  causesOfHeals = 0;
  mapping: MappingChoice;
  readonly #plant: PlantName | null;

  private constructor(servers: Servers, door: ConnectorDoor, history: PostgresHistory, plant: PlantName | null) {
    servers.count++;
    this.name = `h${servers.count}`;
    this.history = history;
    this.database = servers.database;
    this.tidemark = servers.tidemark;
    this.door = door;
    this.mapping = history.mapping;
    this.#plant = plant;
    this.oracle = new Oracle(
      servers.database,
      DEVICE_USERS.map((user) => this.own(user)),
    );
    this.ledger = new RowLedger(this.oracle);
  }

  static async open(servers: Servers, history: PostgresHistory, plant: PlantName | null): Promise<HistoryRun> {
    const door = await ConnectorDoor.open(() => servers.tidemark.url);
    const run = new HistoryRun(servers, door, history, plant);
    await run.database.ready();
    await run.database.create(run.name);
    for (const statement of [...SCHEMA, ...firstRows(history.wares)]) await run.sql(statement);
    for (const user of DEVICE_USERS) await run.tidemark.createUser(run.own(user));
    await run.ledger.note();
    run.connector.start(run.#terms());
    return run;
  }

  /** Sources, users and groups have other names in each history, because histories share a server. */
  own(name: string): string {
    return `${name}_${this.name}`;
  }

  get slot(): string {
    return `slot_${this.name}`;
  }

  /** `@name` in the statement is the name of a user or a group in this history. */
  named(statement: string): string {
    return statement.replaceAll(/@(\w+)/g, (_, name: string) => this.own(name));
  }

  async sql(statement: string): Promise<void> {
    await this.database.rows(this.named(statement));
  }

  #terms(): ConnectorTerms {
    return {
      url: this.door.url,
      token: this.tidemark.token,
      name: this.name,
      databaseUrl: this.database.proxiedUrl,
      mapping: mappingOf(this.mapping, this.slot, (name) => this.own(name)),
      batchRowsMax: this.history.batchRowsMax,
      plant: this.#plant,
    };
  }

  restartConnector(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    return this.connector.restart(signal, () => this.#terms());
  }

  /** Kills a process, which is started again at once. */
  async kill(process: Process): Promise<void> {
    if (process === 'connector') await this.restartConnector('SIGKILL');
    else if (process === 'tidemark') await this.tidemark.kill();
    else await this.database.kill();
  }

  async ready(): Promise<void> {
    await this.database.ready();
    await this.tidemark.ready();
  }

  get deviceIndexes(): readonly number[] {
    return DEVICE_USERS.map((_, index) => index);
  }

  /** Whether the user exists whatever the tables say. */
  isLasting(user: string): boolean {
    return DEVICE_USERS.some((name) => name === user);
  }

  /** Changes a table. A statement that does not fit what the table is by now does nothing. */
  async alter(statement: string): Promise<void> {
    try {
      await this.sql(statement);
    } catch (error) {
      if (!isOfStatement(error)) throw error;
    }
  }

  /** The slot is gone when the connector comes back. */
  async dropSlot(): Promise<void> {
    const drop = async () => {
      // A connector that has never stored anything has nothing to compare.
      if ((await this.tidemark.state(`postgres.${this.name}`)) !== null) this.causesOfHeals++;
      await this.database.dropSlot(this.slot);
    };
    await this.connector.restart('SIGKILL', () => this.#terms(), drop);
  }

  /** Ends all faults, and does what has not been met yet. */
  async calm(): Promise<void> {
    this.database.proxy.calm();
    for (const { act } of this.door.disarm()) await act?.();
    await this.ready();
  }

  /** Writes one row more into each table. */
  async writeLast(): Promise<void> {
    for (const statement of LAST_ROWS) await this.sql(statement);
    await this.ledger.note();
  }

  /** Pulls, whatever is restarted meanwhile. */
  async pull(index: number): Promise<PullingDevice> {
    for (let attempt = 1; ; attempt++) {
      await this.tidemark.ready();
      try {
        const device = this.devices[index] ?? (await this.#openDevice(index));
        this.devices[index] = device;
        await device.pull();
        return device;
      } catch (error) {
        if (attempt === PULL_ATTEMPTS_MAX) throw error;
        await sleep(PAUSE_MS);
      }
    }
  }

  async close(): Promise<void> {
    this.door.disarm();
    this.database.proxy.calm();
    await this.connector.end('SIGKILL');
    for (const device of this.devices) device?.close();
    await this.door.close();
    await this.ready();
    await this.database.drop(this.slot);
  }

  #openDevice(index: number): Promise<PullingDevice> {
    const login = this.own(DEVICE_USERS[index] ?? '');
    const kinds = { Ware: 'whole', Note: 'whole', Order: 'groups', Line: 'groups' } as const;
    const sources = new Map(Object.values(SOURCES).map((source) => [this.own(source), kinds[source]] as const));
    return PullingDevice.open(this.tidemark.url, { login, password: DEVICE_PASSWORD }, sources);
  }
}
