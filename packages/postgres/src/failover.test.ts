import { startPostgres } from '@tidemark/testing/kit';
import { type Link, openLink, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseDatabaseUrl } from './sql/parse-url.ts';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

const WARES = 'CREATE TABLE wares (id int PRIMARY KEY, name text)';
const TABLES = [WARES, `INSERT INTO wares SELECT n, 'w' || n FROM generate_series(1, 800) n`];
const mapping = (own: (name: string) => string) => ({
  tables: { 'public.wares': { source: own('Ware'), owner: 'shared' as const } },
});

async function head(link: Link): Promise<number> {
  return (await link.client.documents.objects({ source: link.own('Ware'), shared: true }, { limit: 1 })).head;
}

async function matches(link: Link, sql = link.database.sql): Promise<void> {
  const wanted = async () => {
    const rows = await sql<{ id: number; name: string }>`SELECT id, name FROM wares`;
    const found = (await link.read({ Ware: { shared: {} } })).Ware?.shared ?? {};
    return rows.length === Object.keys(found).length && rows.every(({ id, name }) => found[id]?.name === name);
  };
  await expect.poll(wanted, WAIT).toBe(true);
}

/** The address of the database of a link, at another server with a copy of it. */
function addressAt({ database }: Link, { url }: { readonly url: string }) {
  return parseDatabaseUrl(url.replace(/\/postgres$/, `/${database.name}`));
}

describe('another database behind the address', () => {
  it('[PG-281] a standby that took over is compared with Tidemark, and what it had not got is taken back; only these rows are written', async () => {
    const { postgres } = servers();
    const link = await openLink(servers(), TABLES, mapping);
    const standby = await postgres.startStandby();
    onTestFinished(() => standby.remove());
    const reached = async () => (await standby.sql`SELECT pg_last_wal_replay_lsn()::text AS lsn`)[0]?.lsn;
    expect(await reached()).toEqual(expect.any(String));
    link.start();
    await link.copied();
    await link.sql(`INSERT INTO wares VALUES (900, 'replicated')`);
    const isReplayed = async () => {
      const [row] = await postgres.sql`SELECT pg_current_wal_lsn()::text AS lsn`;
      const [past] = await standby.sql`SELECT pg_last_wal_replay_lsn() >= ${String(row?.lsn)}::text::pg_lsn AS is_past`;
      return past?.is_past;
    };
    await expect.poll(isReplayed, WAIT).toBe(true);
    await standby.stop();
    // The standby never gets these.
    await link.sql(
      `INSERT INTO wares VALUES (901, 'lost')`,
      `UPDATE wares SET name = 'lost' WHERE id = 5`,
      'DELETE FROM wares WHERE id = 6',
    );
    await matches(link);
    await link.stop();
    // Otherwise the standby would get the rest before it takes over.
    await postgres.stop();
    await standby.restart();
    await standby.promote();
    await postgres.restart();
    const before = await head(link);
    link.start({ address: addressAt(link, standby) });
    await expect.poll(() => head(link), WAIT).toBe(before + 3);
    await link.copied();
    const wares = (await link.read({ Ware: { shared: {} } })).Ware?.shared ?? {};
    expect([Object.keys(wares).length, wares[5], wares[6], wares[900], wares[901]]).toEqual([
      801,
      { name: 'w5' },
      { name: 'w6' },
      { name: 'replicated' },
      undefined,
    ]);
    expect(link.heals.length).toBe(1);
    const identity = await standby.sql`SELECT timeline_id::int AS timeline FROM pg_control_checkpoint()`;
    expect((await link.state()).timeline).toBeGreaterThan(1);
    expect(identity).toHaveLength(1);
    expect(await head(link)).toBe(before + 3);
  });

  it('[PG-282] files of an earlier moment behind the same address are noticed, and only the rows that differ are written', async () => {
    const link = await openLink(servers(), TABLES, mapping);
    link.start();
    await link.copied();
    await link.stop();
    const earlier = await servers().postgres.startCopy();
    onTestFinished(() => earlier.remove());
    link.start();
    await link.sql(
      `INSERT INTO wares SELECT n, 'later' FROM generate_series(1001, 1020) n`,
      `DELETE FROM wares WHERE id <= 10`,
      // Much log, so that the server with the earlier files is not there yet.
      `INSERT INTO wares SELECT n, repeat('l', 1000) FROM generate_series(2001, 3000) n`,
      'DELETE FROM wares WHERE id > 2000',
    );
    await matches(link);
    await link.stop();
    const before = await head(link);
    link.start({ address: addressAt(link, earlier) });
    await expect.poll(() => head(link), WAIT).toBe(before + 30);
    await link.copied();
    expect(link.heals).toEqual(['position_ahead_of_log']);
    expect(await head(link)).toBe(before + 30);
  });

  it('[PG-283] another database of the same server is noticed by the slot, which is made anew; the first run never takes the slot of another database', async () => {
    const link = await openLink(servers(), TABLES, mapping);
    link.start();
    await link.copied();
    await link.stop();
    const other = await servers().postgres.createDatabase();
    await other.sql.unsafe(`${WARES}; INSERT INTO wares SELECT n, 'w' || n FROM generate_series(2, 800) n`);
    await other.sql.unsafe('CREATE PUBLICATION tidemark FOR ALL TABLES');
    const before = await head(link);
    link.start({ address: parseDatabaseUrl(other.url) });
    await expect.poll(() => head(link), WAIT).toBe(before + 1);
    await link.copied();
    expect(link.heals).toEqual(['other_database']);
    const found = await other.sql`SELECT database FROM pg_replication_slots WHERE slot_name = ${link.mapping.slot}`;
    expect(found).toEqual([{ database: other.name }]);
    await link.stop();
    link.start({ name: `${link.name}-second` });
    expect(String(await link.ended())).toContain(`belongs to the database "${other.name}" of the same server`);
  });

  it('[PG-284] a slot that the server gave up, because it kept too much log, is made anew and healed', async () => {
    const postgres = await startPostgres({
      settings: { max_slot_wal_keep_size: '2MB', min_wal_size: '2MB', max_wal_size: '2MB' },
    });
    onTestFinished(() => postgres.remove());
    const link = await openLink({ ...servers(), postgres }, TABLES, mapping);
    link.start();
    await link.copied();
    await link.stop();
    await link.sql('CREATE TABLE noise (n text)');
    const status = async () => {
      await link.sql(
        `INSERT INTO noise SELECT repeat('n', 1000) FROM generate_series(1, 3000)`,
        'SELECT pg_switch_wal()',
        'CHECKPOINT',
      );
      const [slot] = await link.database
        .sql`SELECT wal_status FROM pg_replication_slots WHERE slot_name = ${link.mapping.slot}`;
      return slot?.wal_status;
    };
    await expect.poll(status, WAIT).toBe('lost');
    await link.sql(`DELETE FROM wares WHERE id = 1`, `UPDATE wares SET name = 'new' WHERE id = 2`);
    const before = await head(link);
    link.start();
    await matches(link);
    await link.copied();
    expect(link.heals).toEqual(['slot_lost']);
    expect(await head(link)).toBe(before + 2);
  });
});
