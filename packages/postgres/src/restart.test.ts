import { TidemarkClient } from '@tidemark/backend';
import { startPostgres } from '@tidemark/testing/kit';
import { type Link, openLink, type Tables, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { parseDatabaseUrl } from './sql/parse-url.ts';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

const TABLES = [
  'CREATE TABLE orders (id int PRIMARY KEY, crew text, note text)',
  'CREATE TABLE lines (id int PRIMARY KEY, order_id int, ware text)',
  'CREATE TABLE wares (id int PRIMARY KEY, name text)',
];
const mapping = (own: (name: string) => string): Tables => ({
  tables: {
    'public.orders': { source: own('Order'), owner: { group: 'crew' }, columns: { note: 'note' } },
    'public.lines': {
      source: own('Line'),
      owner: { through: ['order_id'], parent: 'public.orders' },
      columns: { ware: 'ware' },
    },
    'public.wares': { source: own('Ware'), owner: 'shared' },
  },
});
const GROUPS = ['north', 'south'];

/** Compares every partition with what SQL says. */
async function matches(link: Link): Promise<void> {
  const bare = `replace(o.crew, '_${link.name}', '')`;
  await link.equals(
    'Order',
    GROUPS,
    `SELECT ${bare} AS owner, o.id, json_build_object('note', o.note) AS attributes FROM orders o`,
  );
  await link.equals(
    'Line',
    GROUPS,
    `SELECT ${bare} AS owner, l.id, json_build_object('ware', l.ware) AS attributes FROM lines l JOIN orders o ON o.id = l.order_id`,
  );
  await link.equals(
    'Ware',
    ['shared'],
    `SELECT 'shared' AS owner, id, json_build_object('name', name) AS attributes FROM wares`,
  );
}

function fill(link: Link): Promise<void> {
  return link.sql(
    `INSERT INTO orders SELECT n, CASE n % 2 WHEN 0 THEN '${link.own('north')}' ELSE '${link.own('south')}' END, 'n' || n FROM generate_series(1, 12) n`,
    `INSERT INTO lines SELECT n, n % 12 + 1, 'l' || n FROM generate_series(1, 40) n`,
    `INSERT INTO wares SELECT n, 'w' || n FROM generate_series(1, 30) n`,
  );
}

/** Transactions that move, change and delete rows; each round does other ones. */
function change(link: Link, round: number): Promise<void> {
  const crew = link.own(GROUPS[round % 2] ?? '');
  return link.sql(
    `UPDATE orders SET crew = '${crew}' WHERE id % 3 = ${round % 3}`,
    `UPDATE lines SET ware = ware || '.', order_id = order_id % 12 + 1 WHERE id % 5 = ${round % 5}; DELETE FROM wares WHERE id = ${round + 1}; INSERT INTO wares VALUES (${100 + round}, 'new')`,
    `DELETE FROM lines WHERE id = ${round * 3 + 1}`,
    `UPDATE orders SET id = id + 1000 WHERE id = ${round + 1}; UPDATE lines SET order_id = ${round + 1001} WHERE order_id = ${round + 1}`,
  );
}

/** A client whose calls fail from the `calls`-th on, before or after the server has done what they ask. */
function failingClient({ tidemark }: ReturnType<typeof servers>, calls: number): TidemarkClient {
  let left = calls;
  return new TidemarkClient({
    url: tidemark.url,
    token: tidemark.token,
    retry: { attemptsMax: 1 },
    platform: {
      fetch: async (url, init) => {
        left--;
        if (left < 0) throw new Error('killed');
        const answer = await fetch(url, init);
        // The last call arrives, but its answer does not.
        if (left === 0 && calls % 2 === 0) throw new Error('killed');
        return answer;
      },
    },
  });
}

describe('restarts and heals', () => {
  it('[PG-78] a connector that is killed at the 11th, 20th … 56th of its calls goes on and ends with exactly the rows of the tables', async () => {
    const link = await openLink(servers(), TABLES, mapping);
    await fill(link);
    let round = 0;
    for (let calls = 11; calls < 60; calls += 9, round++) {
      link.start({ client: failingClient(servers(), calls), batchRowsMax: 5, heartbeatMs: 20 });
      await change(link, round);
      // The heartbeat makes calls, so that it fails in the end also where nothing is left to do.
      expect(await link.ended()).toMatchObject({ code: 'unreachable' });
    }
    link.start();
    await matches(link);
    await change(link, 90);
    await matches(link);
    await link.copied();
  });

  it('[PG-79] the slot is told no position before everything up to it is stored', async () => {
    const link = await openLink(servers(), TABLES, mapping);
    let isHeld = false;
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    onTestFinished(() => release());
    const { tidemark } = servers();
    const client = new TidemarkClient({
      url: tidemark.url,
      token: tidemark.token,
      timeoutMs: 120_000,
      platform: {
        fetch: async (url, init) => {
          if (isHeld && /push_(?:objects|partitions)/.test(String(url))) await held;
          return fetch(url, init);
        },
      },
    });
    link.start({ client, heartbeatMs: 3_600_000 });
    await link.copied();
    isHeld = true;
    const [before] = await link.database.sql`SELECT pg_current_wal_lsn()::text AS lsn`;
    await link.sql(`INSERT INTO wares VALUES (1, 'held')`, `INSERT INTO wares VALUES (2, 'later')`);
    const confirmed = async () => {
      const [row] = await link.database.sql`
        SELECT (confirmed_flush_lsn > ${String(before?.lsn)}::text::pg_lsn) AS is_past FROM pg_replication_slots WHERE slot_name = ${link.mapping.slot}`;
      return row?.is_past;
    };
    // The server is asked until it has heard from the connector several times.
    for (let asked = 0; asked < 20; asked++) expect(await confirmed()).toBe(false);
    const { position } = await link.state();
    const [stored] = await link.database
      .sql`SELECT ${position}::text::pg_lsn <= ${String(before?.lsn)}::text::pg_lsn AS is_old`;
    expect(stored?.is_old).toBe(true);
    release();
    await matches(link);
    await expect.poll(confirmed, WAIT).toBe(true);
  });

  it('[PG-85] a batch that fails is never skipped: the connector ends, and begins again before it', async () => {
    const link = await openLink(servers(), TABLES, mapping);
    const { tidemark } = servers();
    let failures = 0;
    const client = new TidemarkClient({
      url: tidemark.url,
      token: tidemark.token,
      retry: { attemptsMax: 1 },
      platform: {
        fetch: async (url, init) => {
          const isOrders = String(url).includes(link.own('Order')) && /push_(?:objects|partitions)/.test(String(url));
          if (!isOrders || failures > 0) return fetch(url, init);
          failures++;
          return new Response('{"code":"store_unavailable"}', {
            status: 503,
            headers: { 'content-type': 'application/json' },
          });
        },
      },
    });
    link.start({ client });
    await link.copied();
    await fill(link);
    const wares = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [n + 1, { name: `w${n + 1}` }]));
    const wentOn = link.holds({ Ware: { shared: wares } }).then(() => 'it went on behind the batch');
    expect(await Promise.race([link.ended(), wentOn])).toMatchObject({ code: 'store_unavailable' });
    link.start({ client });
    await matches(link);
    expect(failures).toBe(1);
  });

  it('[PG-353] a database server that is shut down in order does not wait for the connector, which goes on when it is back', async () => {
    const postgres = await startPostgres();
    onTestFinished(() => postgres.remove());
    const link = await openLink({ ...servers(), postgres }, TABLES, mapping);
    await fill(link);
    // A heartbeat that fails would end the connection.
    link.start({ heartbeatMs: 3_600_000 });
    await matches(link);
    await link.copied();
    // The log has more than what the connector gets to see.
    await link.sql('CHECKPOINT');
    await postgres.stop();
    expect(await link.ended()).toBeInstanceOf(Error);
    await postgres.restart();
    await change(link, 1);
    link.start({ address: parseDatabaseUrl(link.database.url) });
    await matches(link);
    expect(link.heals).toEqual([]);
  });

  it('[PG-80] after a lost slot everything is compared, and rows that are gone are deleted', async () => {
    const link = await openLink(servers(), TABLES, mapping);
    await fill(link);
    link.start();
    await matches(link);
    await link.copied();
    await link.stop();
    await link.database.sql`SELECT pg_drop_replication_slot(${link.mapping.slot})`;
    await change(link, 1);
    await change(link, 2);
    await link.sql('DELETE FROM orders WHERE id % 4 = 0', 'DELETE FROM wares WHERE id % 4 = 0');
    link.start();
    await change(link, 3);
    await matches(link);
    await link.copied();
    expect(link.heals).toEqual(['slot_lost']);
  });

  it('[PG-80] a state that is older than what the slot was told, as after a restored backup, is healed', async () => {
    const link = await openLink(servers(), TABLES, mapping);
    await fill(link);
    link.start();
    await link.copied();
    const old = await link.state();
    await change(link, 1);
    await link.sql('DELETE FROM wares WHERE id % 4 = 0');
    await matches(link);
    const isPast = async () => {
      const [row] = await link.database
        .sql`SELECT confirmed_flush_lsn > ${old.position}::text::pg_lsn AS is_past FROM pg_replication_slots WHERE slot_name = ${link.mapping.slot}`;
      return row?.is_past;
    };
    await expect.poll(isPast, WAIT).toBe(true);
    await link.stop();
    // Tidemark as it was: an older state, and a row that was deleted since.
    await link.client.push.objects(link.own('Ware'), { 4: { name: 'w4' }, 99: { name: 'never' } });
    await link.client.documents.write('server', `postgres.${link.name}`, JSON.stringify(old));
    link.start();
    await matches(link);
    await link.copied();
    expect(link.heals).toEqual(['position_behind_slot']);
  });

  it('[PG-81] another database is noticed and compared, and rows that are equal are not written again', async () => {
    const link = await openLink(servers(), TABLES, mapping);
    await fill(link);
    link.start();
    await matches(link);
    await link.copied();
    await link.stop();
    const other = await startPostgres({ isNewSystem: true });
    try {
      for (const statement of TABLES) await other.sql.unsafe(statement);
      await other.sql.unsafe('CREATE PUBLICATION tidemark FOR ALL TABLES');
      await other.sql.unsafe(`INSERT INTO wares SELECT n, 'w' || n FROM generate_series(1, 29) n`);
      const head = async () =>
        (await link.client.documents.objects({ source: link.own('Ware'), shared: true }, { limit: 1 })).head;
      const before = await head();
      link.start({ address: parseDatabaseUrl(other.url) });
      await link.holds({ Order: { north: {}, south: {} }, Line: { north: {}, south: {} } });
      await link.copied();
      expect(link.heals).toEqual(['other_database']);
      const wares = await link.read({ Ware: { shared: {} } });
      expect(Object.keys(wares.Ware?.shared ?? {})).toHaveLength(29);
      // Only the row that is gone was written.
      expect(await head()).toBe(before + 1);
      await link.stop();
    } finally {
      await other.remove();
    }
  });
});
