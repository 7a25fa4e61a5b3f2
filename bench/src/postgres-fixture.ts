import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { TidemarkClient } from '@tidemark/backend';
import type { Mapping, Sql } from '@tidemark/postgres';
import { findProgram, startPostgres } from '@tidemark/testing';
import { type ConnectorProcess, startConnectorProcess } from './connector-process.ts';
import { type DeviceFixture, makeDevices, openDeviceFixture } from './device-fixture.ts';

/** A database with rows, a server, and what connects them. */
export interface PostgresFixture {
  readonly sql: Sql;
  readonly databaseUrl: string;
  /** The server of Tidemark. */
  readonly server: Pick<DeviceFixture, 'port' | 'url'>;
  /** The token of a device. */
  readonly deviceToken: string;
  /** Starts a connector for some of the tables. Connectors of one name go on where the last one ended. */
  connect(name: string, tables: Mapping['tables']): ConnectorProcess;
  /** The milliseconds that a program of Postgres takes, whose output is thrown away. */
  time(program: 'psql' | 'pg_recvlogical', args: readonly string[]): Promise<number>;
  close(): Promise<void>;
}

const DEPOTS = 100;
const PASSWORD = 'only for this benchmark';

/** Rows of about 150 bytes. `orders` belong to groups, `prices` to everybody. */
function schema(rows: number): string {
  const columns = `id int PRIMARY KEY, depot text NOT NULL, title text NOT NULL, status text NOT NULL, priority int NOT NULL,
    due timestamptz NOT NULL, note text NOT NULL`;
  const values = `n, 'depot-' || n % ${DEPOTS}, 'Order number ' || n, 'open', n % 5,
    timestamptz '2026-01-01' + n * interval '1 minute', 'Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod.'`;
  return `
    CREATE TABLE orders (${columns});
    CREATE TABLE prices (${columns});
    CREATE TABLE clock (id int PRIMARY KEY, ticks int NOT NULL);
    INSERT INTO orders SELECT ${values} FROM generate_series(1, ${rows}) AS n;
    INSERT INTO prices SELECT ${values} FROM generate_series(1, ${rows}) AS n;
    INSERT INTO clock VALUES (1, 0);
    CREATE PUBLICATION tidemark FOR ALL TABLES;
    CREATE PROCEDURE change_each(count int) LANGUAGE plpgsql AS $$
    BEGIN
      FOR n IN 1..count LOOP
        UPDATE orders SET priority = priority + 1 WHERE id = n;
        COMMIT;
      END LOOP;
    END $$;
    ANALYZE;`;
}

export async function openPostgresFixture(rows: number): Promise<PostgresFixture> {
  // The settings of a small server in production; those of tests would make it slow.
  const settings = { shared_buffers: '256MB', max_wal_size: '4GB', synchronous_commit: 'off' };
  const postgres = await startPostgres({ settings });
  const { sql, url: databaseUrl } = await postgres.createDatabase();
  await sql.unsafe(schema(rows));
  const more = { TIDEMARK_ADMIN_PASSWORD: PASSWORD };
  const { fixture: server, prepared: devices } = await openDeviceFixture((tidemark) => makeDevices(tidemark, 1), more);
  const admin = await TidemarkClient.logIn({ url: server.url, login: 'admin', password: PASSWORD });
  const { token } = await admin.tokens.create({ name: 'benchmark', scopes: ['admin', 'push'] });
  return {
    ...{ sql, databaseUrl, server, deviceToken: devices[0]?.token ?? '' },
    connect(name, tables) {
      const mapping = { publication: 'tidemark', slot: name, tables, members: {}, users: {} };
      return startConnectorProcess({ url: server.url, token, name, databaseUrl, mapping });
    },
    time: (program, args) => timeProgram(program, [...args, '-d', databaseUrl]),
    async close() {
      await server.close();
      await postgres.remove();
    },
  };
}

async function timeProgram(program: string, args: readonly string[]): Promise<number> {
  const path = findProgram({ names: [program], variable: `TIDEMARK_${program.toUpperCase()}` });
  const start = performance.now();
  const child = spawn(path, args, { stdio: ['ignore', 'ignore', 'inherit'] });
  const [code] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${program} ended with ${code}`);
  return performance.now() - start;
}
