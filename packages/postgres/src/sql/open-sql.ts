import type { QueryConfig, QueryResult } from 'pg';
import { clientConfig, type NameLookup, TEXTS } from './client-config.ts';
import type { DatabaseAddress } from './parse-url.ts';
import { type Lease, SqlPool } from './sql-pool.ts';

export type SqlValue = string | number | bigint | boolean | null;

/** A row without a declared type. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** What runs statements. Numbers of up to 32 bits, floats, booleans and JSON become values, everything else is text. */
export interface TransactionSql {
  /** The values become parameters; nothing is put into the text. */
  <Row extends object = SqlRow>(text: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<Row[]>;
  /** Names in the text must be quoted. Without parameters there may be several statements, of which the last one's rows return. */
  unsafe<Row extends object = SqlRow>(text: string, parameters?: readonly SqlValue[]): Promise<Row[]>;
  /** Rows as lists of texts, exactly as the server writes them. */
  texts(text: string, parameters?: readonly SqlValue[]): Promise<(string | null)[][]>;
}

export interface Sql extends TransactionSql {
  /** Runs `work` in a transaction, which is rolled back when it rejects. `options` are those of `BEGIN`. */
  begin<Result>(work: (sql: TransactionSql) => Promise<Result>): Promise<Result>;
  begin<Result>(options: string, work: (sql: TransactionSql) => Promise<Result>): Promise<Result>;
  /** Waits a moment for what runs, and ends it otherwise. Nothing can be run afterwards. */
  end(): Promise<void>;
}

export interface OpenSqlOptions {
  /** How many connections are open at most. */
  readonly connections?: number;
  /** How long statements that run may go on when the pool is ended. Default: a second. */
  readonly endMs?: number;
  /** What the server shows in `pg_stat_activity`. */
  readonly applicationName?: string;
  /**
   * `catalogue`: a function or table of a user that has the name of one of Postgres is never taken for it. Triggers of the
   * database may need the `search_path` of the role, so it is not for statements that write. Default: `role`.
   */
  readonly lookup?: NameLookup;
}

/** Opens a pool of connections. Nothing is connected before the first statement. */
export function openSql(
  address: DatabaseAddress,
  { connections = 4, applicationName = 'tidemark', lookup = 'role', endMs }: OpenSqlOptions = {},
): Sql {
  const pool = new SqlPool(clientConfig(address, applicationName, lookup), { connections, endMs });
  return Object.assign(
    statements((query) => pool.run((lease) => runAlone(lease, query))),
    {
      begin: <Result>(...given: [Work<Result>] | [options: string, Work<Result>]) => {
        const [options, work] = given.length === 1 ? ['', given[0]] : given;
        return pool.run((lease) => runTransaction(lease, options, work));
      },
      end: () => pool.end(),
    },
  );
}

type Work<Result> = (sql: TransactionSql) => Promise<Result>;

async function runAlone(lease: Lease, query: QueryConfig): Promise<QueryResult> {
  const result = await lease.client.query(query);
  lease.isSound = true;
  return result;
}

async function runTransaction<Result>(lease: Lease, options: string, work: Work<Result>): Promise<Result> {
  let last: Promise<unknown> = Promise.resolve();
  let isOver = false;
  // One after the other: the next version of the driver has no queue.
  const run = (query: QueryConfig) => {
    const next = last.then(() => lease.client.query(query));
    last = next.catch(() => undefined);
    return next;
  };
  const sql = statements(async (query) => {
    if (isOver) throw new Error('the transaction of this statement is over');
    return run(query);
  });
  await run({ text: `BEGIN ${options}` });
  try {
    const result = await work(sql);
    isOver = true;
    const { command } = await run({ text: 'COMMIT' });
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back, because one of its statements failed');
    lease.isSound = true;
    return result;
  } catch (error) {
    isOver = true;
    // It fails when the connection is broken, and succeeds also when the transaction has ended already.
    lease.isSound = await run({ text: 'ROLLBACK' }).then(
      () => true,
      () => false,
    );
    throw error;
  }
}

function statements(run: (query: QueryConfig) => Promise<QueryResult>): TransactionSql {
  const rowsOf = async (query: QueryConfig) => {
    // Of several statements there are several results.
    const result: QueryResult | readonly QueryResult[] = await run(query);
    return (Array.isArray(result) ? result.at(-1) : result).rows;
  };
  return Object.assign(
    (text: TemplateStringsArray, ...values: readonly SqlValue[]) =>
      rowsOf({ text: text.reduce((whole, part, index) => `${whole}$${index}${part}`), values: [...values] }),
    {
      unsafe: (text: string, parameters: readonly SqlValue[] = []) => rowsOf({ text, values: [...parameters] }),
      texts: (text: string, parameters: readonly SqlValue[] = []) => {
        const query = { text, values: [...parameters], types: TEXTS, rowMode: 'array' };
        return rowsOf(query);
      },
    },
  );
}
