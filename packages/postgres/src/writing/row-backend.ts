import { type SourceHandlers, type TidemarkClient, TidemarkError, UNCHANGED } from '@tidemark/backend';
import { readCatalogue } from '../catalogue/read-catalogue.ts';
import type { Clock } from '../clock.ts';
import { buildPlan } from '../mapping/build-plan.ts';
import type { Mapping } from '../mapping/mapping.ts';
import { HEARTBEAT_PREFIX } from '../replication/heartbeat.ts';
import { parseLsn } from '../replication/lsn.ts';
import { openSql, type Sql } from '../sql/open-sql.ts';
import type { DatabaseAddress } from '../sql/parse-url.ts';
import { StateStore } from '../state/connector-state.ts';
import { forgetOperations } from './operations.ts';
import { type RowCall, RowWriter, type WriteHook } from './row-writer.ts';
import { StreamPosition } from './stream-position.ts';
import { writtenTables } from './written-tables.ts';

export interface RowBackendOptions {
  readonly client: TidemarkClient;
  /** Names the connector to the database. */
  readonly name: string;
  readonly address: DatabaseAddress;
  readonly mapping: Mapping;
  /** The name of the mapping file, for messages. */
  readonly mappingFile: string;
  /** Functions that replace the statements of tables, by the label of the table. */
  readonly hooks?: Readonly<Record<string, WriteHook>>;
  /** True: the stream is applied in this process, and `notePosition` is called with every position. */
  readonly isAlone?: boolean;
  readonly clock: Clock;
  /** Called when old operations could not be deleted; that is tried again. */
  readonly onError?: (error: unknown) => void;
}

const CONNECTIONS = 8;
/**
 * After this, with a wait for a free connection, a change that has no answer is tried again later. A later answer could also be
 * written over what the stream has brought since: created rows are held back for 30 seconds.
 */
const WRITE_MS_MAX = 15_000;
const FORGET_MS = 60 * 60 * 1000;

/** Makes the changes of devices in the database. Any number of them may work for one connector, on as many servers. */
export class RowBackend {
  readonly #options: RowBackendOptions;
  readonly #sql: Sql;
  readonly #position: StreamPosition;
  readonly #endForgetting: () => void;
  /** Made at the first change, and again after the tables may have changed. */
  #writer: Promise<RowWriter> | null = null;

  constructor(options: RowBackendOptions) {
    const { address, name, client, clock, onError = () => undefined } = options;
    this.#options = options;
    this.#sql = openSql(address, { connections: CONNECTIONS, applicationName: `tidemark ${name} uploads` });
    const state = new StateStore(client, name);
    const read = async () => parseLsn((await state.read())?.position ?? '0/0');
    this.#position = new StreamPosition(clock, options.isAlone === true ? null : read);
    this.#endForgetting = clock.every(FORGET_MS, () => void forgetOperations(this.#sql).catch(onError));
  }

  /** Everything up to the position is durable in Tidemark, as `ConnectorEvents.onPosition` says. */
  notePosition(position: string): void {
    this.#position.note(parseLsn(position));
  }

  /** The handlers of all sources that devices may change. */
  handlers(): Readonly<Record<string, SourceHandlers>> {
    const handlers: SourceHandlers = {
      // Rows come by the stream alone; an answer that is read meanwhile could only be older.
      query: () => UNCHANGED,
      create: async (call) => ({ id: await this.write({ op: 'create', ...call }) }),
      update: async (call) => {
        await this.write({ op: 'update', ...call });
        return { pushed: true };
      },
      delete: async (call) => {
        await this.write({ op: 'delete', ...call });
        return { pushed: true };
      },
    };
    const written = Object.values(this.#options.mapping.tables).map(({ source }) => source);
    return Object.fromEntries(written.map((source) => [source, handlers]));
  }

  /**
   * Makes a change and returns the id of the object. Other changes than creations wait for their row to come back; a new row waits for
   * Tidemark instead, which knows its id only by this answer.
   */
  async write(call: RowCall): Promise<string> {
    const id = await this.#inTime(this.#write(call));
    if (call.op !== 'create') await this.#position.passed(await this.#mark());
    return id;
  }

  async #write(call: RowCall): Promise<string> {
    const writer = await this.#open();
    try {
      return await writer.write(call);
    } catch (error) {
      // The tables may have changed since the plan was made.
      if (isAboutTables(error)) this.#writer = null;
      throw error;
    }
  }

  /** The work goes on when it is late; the call that is repeated then finds what it has done. */
  #inTime<Result>(work: Promise<Result>): Promise<Result> {
    const { clock } = this.#options;
    const startMs = clock.nowMs();
    return new Promise((resolve, reject) => {
      const end = () => reject(new Error('the database did not make the change in time'));
      const cancel = clock.after(WRITE_MS_MAX, end);
      const take = (result: Result) => (clock.nowMs() - startMs > WRITE_MS_MAX ? end() : resolve(result));
      void work.then(take, reject).finally(cancel);
    });
  }

  async close(): Promise<void> {
    this.#endForgetting();
    await this.#sql.end();
  }

  /** Makes the stream pass a position behind the change soon. */
  async #mark(): Promise<bigint> {
    const [row] = await this.#sql<{ lsn: string }>`SELECT pg_current_wal_insert_lsn()::text AS lsn,
      pg_logical_emit_message(false, ${HEARTBEAT_PREFIX}, 'written')::text AS message`.catch(() => []);
    return row === undefined ? 0n : parseLsn(row.lsn);
  }

  #open(): Promise<RowWriter> {
    this.#writer ??= this.#plan().catch((error: unknown) => {
      this.#writer = null;
      throw error;
    });
    return this.#writer;
  }

  async #plan(): Promise<RowWriter> {
    const { mapping, mappingFile, client, hooks, name } = this.#options;
    const catalogue = await readCatalogue(this.#sql);
    const tables = writtenTables(buildPlan(mapping, catalogue, mappingFile), catalogue);
    return new RowWriter({
      sql: this.#sql,
      connector: name,
      tables,
      groupsOf: (user) => groupsOf(client, user),
      ...(mapping.writing?.role === undefined ? {} : { role: mapping.writing.role }),
      ...(hooks === undefined ? {} : { hooks }),
    });
  }
}

/** SQLSTATE class 42: a table, a column or a type is another one than when the statement was made. */
function isAboutTables(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && /^42/.test(code);
}

async function groupsOf(client: TidemarkClient, user: string): Promise<readonly string[]> {
  try {
    return (await client.groups.of(user)).groups;
  } catch (error) {
    // The user was deleted while the change was under way.
    if (error instanceof TidemarkError && error.status === 404) return [];
    throw error;
  }
}
