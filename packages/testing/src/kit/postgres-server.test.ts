import { describe, expect, it, onTestFinished } from 'vitest';
import { startPostgres } from './postgres-server.ts';

describe('PostgreSQL servers of tests', () => {
  it('[PG-1] a server has logical replication, keeps its data when it is killed, and databases are apart', async () => {
    const server = await startPostgres({ settings: { max_replication_slots: '3' } });
    onTestFinished(() => server.remove());
    const { name, url, sql } = await server.createDatabase();
    expect([new URL(url).pathname, new URL(url).port]).toEqual([`/${name}`, String(server.port)]);
    await sql`CREATE TABLE kept AS SELECT 1 AS id`;
    await server.kill();
    await server.restart({ max_replication_slots: '4' });
    const shown =
      await sql`SELECT id, current_setting('wal_level') AS level, current_setting('max_replication_slots') AS slots FROM kept`;
    expect([...shown]).toEqual([{ id: 1, level: 'logical', slots: '4' }]);
    expect([...(await server.sql`SELECT to_regclass('kept') AS kept`)]).toEqual([{ kept: null }]);
    await server.stop();
    await server.restart();
    expect([...(await sql`SELECT id FROM kept`)]).toEqual([{ id: 1 }]);
  });

  it('[PG-1] servers share a system identifier, except for those that shall have their own', async () => {
    const servers = await Promise.all([startPostgres(), startPostgres(), startPostgres({ isNewSystem: true })]);
    onTestFinished(async () => void (await Promise.all(servers.map((server) => server.remove()))));
    const ids = await Promise.all(
      servers.map(async ({ sql }) => (await sql`SELECT system_identifier AS id FROM pg_control_system()`)[0]?.id),
    );
    expect([ids[0] === ids[1], ids[0] === ids[2]]).toEqual([true, false]);
  });

  it('[PG-1] a standby follows its server, and takes writes with a new timeline when it is promoted', async () => {
    const server = await startPostgres();
    onTestFinished(() => server.remove());
    await server.sql`CREATE TABLE kept (id int)`;
    const standby = await server.startStandby();
    onTestFinished(() => standby.remove());
    await server.sql`INSERT INTO kept VALUES (1)`;
    await expect.poll(async () => (await standby.sql`SELECT id FROM kept`).length).toBe(1);
    await server.kill();
    await standby.promote();
    await standby.sql`INSERT INTO kept VALUES (2)`;
    const [log] = await standby.sql`SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline`;
    expect([[...(await standby.sql`SELECT id FROM kept ORDER BY id`)], log?.timeline]).toEqual([
      [{ id: 1 }, { id: 2 }],
      '00000002',
    ]);
  });
});
