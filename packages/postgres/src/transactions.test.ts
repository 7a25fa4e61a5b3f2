import { itLong, makeUser, openDevice } from '@tidemark/testing';
import { type Link, openLink, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

const ORDERS = [
  'CREATE TABLE orders (id int PRIMARY KEY, crew text, note text)',
  'CREATE TABLE lines (id int PRIMARY KEY, order_id int REFERENCES orders DEFERRABLE INITIALLY DEFERRED, body text)',
  'ALTER TABLE lines ALTER body SET STORAGE EXTERNAL',
];
const mapping = (own: (name: string) => string) => ({
  tables: {
    'public.lines': {
      source: own('Line'),
      owner: { through: ['order_id'], parent: 'public.orders' },
      columns: { body: 'body' },
    },
    'public.orders': { source: own('Order'), owner: { group: 'crew' }, columns: { note: 'note' } },
  },
});
const GROUPS = ['north', 'south'];

async function matches(link: Link): Promise<void> {
  const owner = `replace(o.crew, '_${link.name}', '') AS owner`;
  await link.equals(
    'Order',
    GROUPS,
    `SELECT ${owner}, o.id, json_build_object('note', o.note) AS attributes FROM orders o`,
  );
  await link.equals(
    'Line',
    GROUPS,
    `SELECT ${owner}, l.id, json_build_object('body', l.body) AS attributes FROM lines l JOIN orders o ON o.id = l.order_id`,
  );
}

describe('transactions', () => {
  it('[PG-278] children that a transaction inserts before their parents arrive with them', async () => {
    const link = await openLink(servers(), ORDERS, mapping);
    link.start();
    await link.copied();
    const north = link.own('north');
    await link.sql(
      `BEGIN; INSERT INTO lines SELECT n, n % 10, repeat('b', 4000) || n FROM generate_series(1, 200) n; INSERT INTO orders SELECT n, '${north}', 'o' || n FROM generate_series(0, 9) n; COMMIT`,
      // Parent and child get other keys in one transaction.
      'BEGIN; UPDATE orders SET id = id + 100; UPDATE lines SET order_id = order_id + 100; COMMIT',
      `BEGIN; UPDATE lines SET id = id + 1000 WHERE id % 7 = 0; UPDATE orders SET crew = '${link.own('south')}' WHERE id % 2 = 0; COMMIT`,
    );
    await matches(link);
  });

  itLong('[PG-278] ten thousand children follow their parent to another group', async () => {
    const link = await openLink(
      servers(),
      [
        ...ORDERS,
        `INSERT INTO orders VALUES (1, '@north', 'large'), (2, '@north', 'small')`,
        `INSERT INTO lines SELECT n, 1 + (n > 10000)::int, 'b' || n FROM generate_series(1, 10050) n`,
      ],
      mapping,
    );
    const sizes = async () => {
      const size = async (group: string) =>
        (await link.client.documents.objects({ source: link.own('Line'), group: link.own(group) }, { limit: 1 })).size;
      return [await size('north'), await size('south')];
    };
    link.start();
    await link.copied();
    await link.sql(`UPDATE orders SET crew = '${link.own('south')}' WHERE id = 1`);
    await expect.poll(sizes, WAIT).toEqual([50, 10_000]);
    await link.sql(
      `UPDATE orders SET crew = '${link.own('north')}' WHERE id = 1; UPDATE lines SET body = 'x' WHERE id % 3 = 0`,
    );
    await matches(link);
  });

  it('[PG-279] TRUNCATE of a parent with CASCADE, between inserts of one transaction, leaves what came after it', async () => {
    const link = await openLink(
      servers(),
      [
        ...ORDERS,
        `INSERT INTO orders SELECT n, '@north', 'o' FROM generate_series(1, 20) n`,
        `INSERT INTO lines SELECT n, n % 20 + 1, 'b' FROM generate_series(1, 700) n`,
      ],
      mapping,
    );
    const south = link.own('south');
    link.start();
    await link.copied();
    await link.sql(
      `BEGIN; INSERT INTO orders VALUES (50, '${south}', 'before'); INSERT INTO lines VALUES (5000, 50, 'before');
       SET CONSTRAINTS ALL IMMEDIATE; TRUNCATE orders CASCADE; INSERT INTO orders VALUES (1, '${south}', 'after'); INSERT INTO lines VALUES (1, 1, 'after'), (2, 1, 'after'); COMMIT`,
    );
    await matches(link);
    await link.sql('TRUNCATE lines', `INSERT INTO lines VALUES (3, 1, 'last')`);
    await matches(link);
    await link.copied();
    await matches(link);
  });

  it('[PG-280] a device never has half of the rows that a transaction changes in one partition', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE wares (id int PRIMARY KEY, version int)',
        'INSERT INTO wares SELECT n, 0 FROM generate_series(1, 300) n',
      ],
      (own) => ({ tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } } }),
    );
    const { tidemark } = servers();
    await makeUser(tidemark, link.own('ada'));
    const { api, id } = await openDevice(tidemark, link.own('ada'));
    link.start();
    await link.copied();
    const source = link.own('Ware');
    const versions = new Map<string, number>();
    let token: string | undefined;
    const pull = async () => {
      for (let hasMore = true; hasMore; ) {
        const asked = { [source]: token === undefined ? {} : { token } };
        const { body } = await api.post('/sync/v1/pull', { client_id: id, sources: asked });
        const page = (body as { sources: Record<string, PulledPage> }).sources[source];
        if (page?.token === undefined) return new Set<number>();
        for (const [ware, { version }] of Object.entries({ ...page.put, ...page.patch })) versions.set(ware, version);
        token = page.token;
        hasMore = page.more;
      }
      return new Set(versions.values());
    };
    await expect.poll(pull, WAIT).toEqual(new Set([0]));
    const changing = link.sql(...Array.from({ length: 60 }, () => 'UPDATE wares SET version = version + 1'));
    for (let seen = 0; seen < 60; ) {
      const found = await pull();
      expect(found.size).toBe(1);
      seen = [...found][0] ?? 0;
    }
    await changing;
  });
});

interface PulledPage {
  readonly token?: string;
  readonly more: boolean;
  readonly put?: Readonly<Record<string, { readonly version: number }>>;
  readonly patch?: Readonly<Record<string, { readonly version: number }>>;
}
