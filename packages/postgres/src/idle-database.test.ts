import { openLink, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';
import { parseLsn } from './replication/lsn.ts';
import { readSlot } from './replication/slot.ts';

const WAIT = { timeout: 120_000, interval: 100 };

const servers = useServers();

describe('an idle database', () => {
  it('[PG-354] a connector of a database in which nothing changes lets the server forget the log of its other databases', async () => {
    const link = await openLink(
      servers(),
      ['CREATE TABLE wares (id int PRIMARY KEY, name text)', `INSERT INTO wares VALUES (1, 'rope')`],
      (own) => ({ tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } } }),
    );
    link.start();
    await link.copied();
    const busy = await servers().postgres.createDatabase();
    await busy.sql`CREATE TABLE filling AS SELECT repeat('x', 1000) FROM generate_series(1, 10000)`;
    const [{ lsn } = { lsn: '' }] = await busy.sql<{ lsn: string }>`SELECT pg_current_wal_lsn()::text AS lsn`;
    const isForgotten = async () => {
      // Postgres notes where it may begin again with what a checkpoint writes.
      await busy.sql`CHECKPOINT`;
      const restartLsn = (await readSlot(link.database.sql, link.mapping.slot))?.restartLsn ?? 0n;
      return restartLsn > parseLsn(lsn);
    };
    await expect.poll(isForgotten, WAIT).toBe(true);
    expect(parseLsn((await link.state()).position)).toBeGreaterThan(parseLsn(lsn));
  });
});
