import { inspect } from 'node:util';
import { type PostgresServer, startPostgres } from '@tidemark/testing/kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type OpenSqlOptions, openSql, type Sql } from './open-sql.ts';
import { parseDatabaseUrl } from './parse-url.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

function open(options: OpenSqlOptions = {}, { url } = server): Sql {
  const sql = openSql(parseDatabaseUrl(url), options);
  onTestFinished(() => sql.end());
  return sql;
}

async function processOf(sql: Pick<Sql, 'unsafe'>): Promise<number> {
  const [row] = await sql.unsafe<{ id: number }>('SELECT pg_backend_pid() AS id');
  return row?.id ?? 0;
}

/** Ends the process of a connection, and returns when it is gone. */
async function terminate(processId: number): Promise<void> {
  await server.sql`SELECT pg_terminate_backend(${processId})`;
  await expect.poll(() => server.sql`SELECT FROM pg_stat_activity WHERE pid = ${processId}`).toEqual([]);
}

async function untilSleeping({ sql }: PostgresServer): Promise<void> {
  const sleeping = () => sql`SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'`;
  await expect.poll(sleeping).toHaveLength(1);
}

describe('statements', () => {
  it('[PG-161] values are parameters, and results are values or the text of the server', async () => {
    const sql = open();
    const text = `'; DROP TABLE x; -- $1 \${1}`;
    const rows =
      await sql`SELECT ${text}::text AS text, ${7}::int AS int, ${2n ** 62n}::int8 AS big, ${null}::int AS nothing,
      ${true}::bool AS yes, ${0.5}::float8 AS half, '{"a": [1]}'::jsonb AS json, 1.50 AS exact, '{1,2}'::int[] AS list,
      '2026-11-18 07:00+00'::timestamptz AS at, '\\x00ff'::bytea AS bytes`;
    expect(rows).toEqual([
      {
        ...{ text, int: 7, big: '4611686018427387904', nothing: null, yes: true, half: 0.5, json: { a: [1] } },
        ...{ exact: '1.50', list: '{1,2}', at: '2026-11-18 07:00:00+00', bytes: '\\x00ff' },
      },
    ]);
    expect(await sql.texts('SELECT $1::int, true, NULL', [1])).toEqual([['1', 't', null]]);
    expect(await sql.unsafe('SELECT 1 AS first; SELECT 2 AS second')).toEqual([{ second: 2 }]);
    expect(await sql.unsafe('SELECT 1 AS one; SET application_name = x')).toEqual([]);
  });

  it('[PG-162] what refuses a statement is in its error, and the connection is used again after a transaction', async () => {
    const sql = open({ connections: 1 });
    await server.sql.unsafe('CREATE TABLE strict (id int NOT NULL CONSTRAINT positive CHECK (id > 0))');
    const before = await processOf(sql);
    const refused = sql.begin((tx) => tx`INSERT INTO strict VALUES (-1)`);
    await expect(refused).rejects.toMatchObject({ code: '23514', constraint: 'positive', table: 'strict' });
    await expect(sql.begin((tx) => tx`INSERT INTO strict VALUES (NULL)`)).rejects.toMatchObject({ column: 'id' });
    expect(await processOf(sql)).toBe(before);
    expect(await sql`SELECT id FROM strict`).toEqual([]);
  });

  it('[PG-162] a transaction is all or nothing, also when the error of a statement is ignored', async () => {
    const sql = open({ connections: 2 });
    await sql`CREATE TABLE kept (id int)`;
    await sql.begin('isolation level repeatable read', (tx) =>
      Promise.all([tx`INSERT INTO kept VALUES (1)`, tx`INSERT INTO kept VALUES (2)`, tx`SELECT pg_sleep(0)`]),
    );
    const ignored = sql.begin(async (tx) => {
      await tx`INSERT INTO kept VALUES (3)`;
      await tx`SELECT 1 / 0`.catch(() => undefined);
    });
    await expect(ignored).rejects.toThrow('the transaction was rolled back, because one of its statements failed');
    const late = await sql.begin(async (tx) => () => tx`INSERT INTO kept VALUES (4)`);
    await expect(late()).rejects.toThrow('the transaction of this statement is over');
    expect(await sql`SELECT id FROM kept ORDER BY id`).toEqual([{ id: 1 }, { id: 2 }]);
  });

  it('[PG-163] the password is in no error', async () => {
    const address = { ...parseDatabaseUrl(server.url), password: 'very-secret' };
    const errors = await Promise.all(
      [address, { ...address, port: 1 }].map((one) => {
        const sql = openSql(one);
        onTestFinished(() => sql.end());
        return sql`SELECT 1`.catch((error: unknown) => error);
      }),
    );
    expect(errors).toMatchObject([{ code: '28P01' }, { code: 'ECONNREFUSED' }]);
    expect(inspect(errors, { depth: 20 })).not.toContain('very-secret');
  });
});

describe('a lost connection', () => {
  it('[PG-164] makes its transaction fail, and the next statement has another connection', async () => {
    const sql = open({ connections: 1 });
    await sql`CREATE TABLE lost (id int)`;
    for (let round = 0; round < 10; round++) {
      const atOnce = sql.begin(async (tx) => {
        await tx`INSERT INTO lost VALUES (1)`;
        await tx`SELECT pg_terminate_backend(pg_backend_pid())`;
      });
      await expect(atOnce).rejects.toMatchObject({ code: '57P01' });
      const between = sql.begin(async (tx) => {
        await tx`INSERT INTO lost VALUES (2)`;
        await terminate(await processOf(tx));
        await Promise.all([tx`INSERT INTO lost VALUES (3)`, tx`INSERT INTO lost VALUES (4)`]);
      });
      await expect(between).rejects.toThrow(Error);
      expect(await sql`SELECT id FROM lost`).toEqual([]);
    }
  });

  it('[PG-164] makes a transaction fail whose work does not notice it', async () => {
    const sql = open({ connections: 1 });
    const unnoticed = sql.begin(async (tx) => terminate(await processOf(tx)));
    await expect(unnoticed).rejects.toThrow(Error);
    expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
  });

  it('[PG-164] that is idle is replaced', async () => {
    const sql = open({ connections: 1 });
    const before = await processOf(sql);
    await terminate(before);
    // A statement may still meet the old one, until its end has been read.
    await expect.poll(() => processOf(sql).catch(() => before)).not.toBe(before);
  });

  it('[PG-164] of a server that was killed makes the statement fail; when the server is back, the next one succeeds', async () => {
    const own = await startPostgres();
    onTestFinished(() => own.remove());
    const sql = open({ connections: 2 }, own);
    await sql`SELECT 1`;
    const failed = expect(sql`SELECT pg_sleep(600)`).rejects.toThrow(Error);
    await untilSleeping(own);
    await own.kill();
    await failed;
    await expect(sql`SELECT 1`).rejects.toThrow(Error);
    await own.restart();
    expect(await sql`SELECT 1 AS one`).toEqual([{ one: 1 }]);
    await own.kill();
    await sql.end();
  });
});

describe('the end of the connections', () => {
  it('[PG-165] waits for no statement for long: those that run or wait fail, and later ones are refused', async () => {
    const own = await startPostgres();
    onTestFinished(() => own.remove());
    const sql = open({ connections: 1 }, own);
    const outcomes = ['SELECT pg_sleep(600)', 'SELECT 1', 'SELECT 2'].map((text) =>
      sql.unsafe(text).then(
        () => 'done',
        () => 'failed',
      ),
    );
    await untilSleeping(own);
    await Promise.all([sql.end(), sql.end()]);
    expect(await Promise.all(outcomes)).toEqual(['failed', 'failed', 'failed']);
    await expect(sql`SELECT 3`).rejects.toThrow('the connections to the database were ended');
  });

  it('[PG-165] lets statements end that need a moment only, and leaves no connection behind', async () => {
    const sql = openSql(parseDatabaseUrl(server.url), { applicationName: 'ends', endMs: 60_000 });
    const answers = Promise.all([sql`SELECT 1 AS one`, sql.begin((tx) => tx`SELECT 2 AS two`)]);
    await sql.end();
    expect(await answers).toEqual([[{ one: 1 }], [{ two: 2 }]]);
    const left = () => server.sql`SELECT FROM pg_stat_activity WHERE application_name = 'ends'`;
    await expect.poll(left).toEqual([]);
  });
});
