import { setTimeout as sleep } from 'node:timers/promises';
import { type PostgresServer, startPostgres } from '@tidemark/testing/kit';
import { Client } from 'pg';
import { DatabaseProxy } from './database-proxy.ts';
import { lsnNumber } from './lsn-number.ts';
import type { Transaction } from './step.ts';

const SETTINGS = { max_replication_slots: '20', max_wal_senders: '20' };
/** A statement that waits for another transaction of the same step would wait for ever. */
const OPTIONS = '-c lock_timeout=300';
const ATTEMPTS_MAX = 600;
const PAUSE_MS = 50;

/** The database of a history, on a server that can be killed, and replaced by its standby. */
export class Database {
  readonly proxy: DatabaseProxy;
  #server: PostgresServer;
  #ready: Promise<void> = Promise.resolve();
  #name = 'postgres';
  #client: Client | null = null;

  private constructor(server: PostgresServer, proxy: DatabaseProxy) {
    this.#server = server;
    this.proxy = proxy;
  }

  static async open(): Promise<Database> {
    const server = await startPostgres({ settings: SETTINGS });
    return new Database(server, await DatabaseProxy.open(server.port));
  }

  /** The address that the connector has, through the proxy. */
  get proxiedUrl(): string {
    const url = new URL(this.#server.url);
    url.port = String(this.proxy.port);
    url.pathname = `/${this.#name}`;
    return url.href;
  }

  /** Begins with an empty database. */
  async create(name: string): Promise<void> {
    await this.#server.sql.unsafe(`CREATE DATABASE ${name}`);
    this.#name = name;
  }

  async drop(slot: string): Promise<void> {
    await this.#ready;
    await this.dropSlot(slot);
    await this.#client?.end();
    this.#client = null;
    await this.#server.sql.unsafe(`DROP DATABASE IF EXISTS ${this.#name} WITH (FORCE)`);
    this.#name = 'postgres';
  }

  /** Runs a statement and returns its rows. It is repeated after a kill. */
  async rows<Row>(statement: string, parameters: readonly unknown[] = []): Promise<readonly Row[]> {
    for (let attempt = 1; ; attempt++) {
      await this.#ready;
      try {
        this.#client ??= await this.connect();
        return (await this.#client.query(statement, [...parameters])).rows as readonly Row[];
      } catch (error) {
        if (isOfStatement(error) || attempt === ATTEMPTS_MAX) throw error;
        this.#client = null;
        await sleep(PAUSE_MS);
      }
    }
  }

  /** A connection of its own, to this server or to a standby. */
  async connect(server: PostgresServer = this.#server): Promise<Client> {
    const url = new URL(server.url);
    url.pathname = `/${this.#name}`;
    const client = new Client({ connectionString: url.href, options: OPTIONS });
    // The statement that runs hears of it as well.
    client.on('error', () => undefined);
    await client.connect();
    return client;
  }

  /** Where the log ends now. */
  async lsn(): Promise<bigint> {
    const [row] = await this.rows<{ readonly lsn: string }>('SELECT pg_current_wal_insert_lsn()::text AS lsn');
    return lsnNumber(row?.lsn ?? '');
  }

  /** Kills the server and starts it again; the latter is not waited for. */
  async kill(): Promise<void> {
    await this.#ready;
    await this.#server.kill();
    this.#ready = this.#server.restart();
    this.#ready.catch(() => undefined);
  }

  ready(): Promise<void> {
    return this.#ready;
  }

  async dropSlot(slot: string): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        await this.rows(`SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1`, [
          slot,
        ]);
        return;
      } catch (error) {
        // It is in use until the server notices that the connector is gone.
        if (attempt === ATTEMPTS_MAX) throw error;
        await this.rows(
          `SELECT pg_terminate_backend(active_pid) FROM pg_replication_slots WHERE active_pid IS NOT NULL`,
        );
        await sleep(PAUSE_MS);
      }
    }
  }

  /** A standby takes over. With `lose` it does not get what that does. */
  async failOver(lose: (() => Promise<void>) | null): Promise<void> {
    await this.#ready;
    const old = this.#server;
    const standby = await old.startStandby();
    await this.#until(standby, 'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done', await this.#endOfLog());
    if (lose !== null) {
      await standby.sql.unsafe(`ALTER SYSTEM SET primary_conninfo = ''`);
      await standby.sql.unsafe('SELECT pg_reload_conf()');
      await this.#until(standby, 'SELECT count(*) = 0 AS done FROM pg_stat_wal_receiver');
      await lose();
    }
    await this.#client?.end().catch(() => undefined);
    this.#client = null;
    await old.kill();
    await standby.promote();
    this.#server = standby;
    this.proxy.retarget(standby.port);
    await old.remove();
  }

  async close(): Promise<void> {
    await this.#client?.end().catch(() => undefined);
    await this.#ready.catch(() => undefined);
    await this.proxy.close();
    await this.#server.remove();
  }

  async #endOfLog(): Promise<string> {
    const [row] = await this.rows<{ readonly lsn: string }>('SELECT pg_current_wal_flush_lsn()::text AS lsn');
    return row?.lsn ?? '';
  }

  async #until(server: PostgresServer, question: string, parameter?: string): Promise<void> {
    const client = await this.connect(server);
    try {
      for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt++) {
        const { rows } = await client.query(question, parameter === undefined ? [] : [parameter]);
        if (rows[0]?.done === true) return;
        await sleep(PAUSE_MS);
      }
      throw new Error(`never true: ${question}`);
    } finally {
      await client.end();
    }
  }
}

/** Whether the statement is wrong or refused, so that it is not to be repeated. Class 57 is a server that ends. */
export function isOfStatement(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) && !code.startsWith('57') && !code.startsWith('08');
}

/** Runs transactions side by side, one statement at a time. `onEnd` is called when one has ended. */
export async function runTransactions(
  database: Database,
  transactions: readonly Transaction[],
  turns: readonly number[],
  onEnd: () => Promise<void>,
): Promise<void> {
  await database.ready();
  const running = transactions.map((transaction) => new RunningTransaction(database, transaction));
  for (const index of turns) {
    const one = running[index];
    if (one === undefined) continue;
    await one.next();
    if (one.isDone) await onEnd();
  }
  for (const one of running) await one.close();
  await onEnd();
}

class RunningTransaction {
  readonly #database: Database;
  readonly #transaction: Transaction;
  #client: Client | null = null;
  #at = 0;
  #hasFailed = false;

  constructor(database: Database, transaction: Transaction) {
    this.#database = database;
    this.#transaction = transaction;
  }

  get isDone(): boolean {
    return this.#at === this.#transaction.statements.length;
  }

  async next(): Promise<void> {
    const { statements, isRolledBack } = this.#transaction;
    const statement = statements[this.#at];
    if (statement === undefined) return;
    if (this.#at === 0) await this.#try('BEGIN');
    this.#at++;
    await this.#try(statement);
    if (this.isDone) await this.#try(isRolledBack ? 'ROLLBACK' : 'COMMIT');
    if (this.isDone) await this.close();
  }

  async close(): Promise<void> {
    const client = this.#client;
    this.#client = null;
    await client?.end().catch(() => undefined);
  }

  /** After an error the transaction has failed, and the connection is of no use. */
  async #try(statement: string): Promise<void> {
    if (this.#hasFailed) return;
    try {
      this.#client ??= await this.#database.connect();
      await this.#client.query(statement);
    } catch (error) {
      this.#hasFailed = true;
      if (isOfStatement(error) && isMistake(error)) throw error;
      await this.close();
    }
  }
}

/** Classes of errors that no statement of a history may have: syntax, unknown names and types. */
function isMistake(error: unknown): boolean {
  return /^42/.test(String((error as { readonly code?: unknown }).code));
}
