import { type Link, openLink, type Tables, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';

const servers = useServers();

const PRODUCTS = 'CREATE TABLE products (id int PRIMARY KEY, name text, price int)';
const productMapping = (own: (name: string) => string): Tables => ({
  tables: { 'public.products': { source: own('Product'), owner: 'shared' } },
});
const ALL_PRODUCTS = `SELECT 'shared' AS owner, id, json_build_object('name', name, 'price', price) AS attributes FROM products`;

const ORDERS = [
  'CREATE TABLE orders (id int PRIMARY KEY, crew text, note text)',
  'CREATE TABLE lines (order_id int, no int, ware text, PRIMARY KEY (order_id, no))',
];
const orderMapping = (own: (name: string) => string): Tables => ({
  tables: {
    'public.lines': { source: own('Line'), owner: { through: ['order_id'], parent: 'public.orders' } },
    'public.orders': { source: own('Order'), owner: { group: 'crew' }, columns: { note: 'note' } },
  },
});

async function matchesOrders(link: Link, groups: readonly string[]): Promise<void> {
  const bare = `replace(o.crew, '_${link.name}', '')`;
  await link.equals(
    'Order',
    groups,
    `SELECT ${bare} AS owner, o.id, json_build_object('note', o.note) AS attributes FROM orders o`,
  );
  await link.equals(
    'Line',
    groups,
    `SELECT ${bare} AS owner, l.order_id || '/' || l.no AS id, json_build_object('ware', l.ware) AS attributes FROM lines l JOIN orders o ON o.id = l.order_id`,
  );
}

describe('copying and streaming', () => {
  it('[PG-64] rows are copied, and then changes follow', async () => {
    const link = await openLink(
      servers(),
      [PRODUCTS, `INSERT INTO products SELECT n, 'p' || n, n FROM generate_series(1, 3) n`],
      productMapping,
    );
    link.start();
    await link.equals('Product', ['shared'], ALL_PRODUCTS);
    await link.sql(
      `UPDATE products SET price = 20 WHERE id = 2`,
      `DELETE FROM products WHERE id = 1`,
      `INSERT INTO products VALUES (4, NULL, 4)`,
    );
    await link.holds({
      Product: { shared: { 2: { name: 'p2', price: 20 }, 3: { name: 'p3', price: 3 }, 4: { name: null, price: 4 } } },
    });
  });

  it('[PG-87] devices cannot change a source whose mapping lets them write nothing', async () => {
    const link = await openLink(servers(), [PRODUCTS], productMapping);
    link.start();
    await link.copied();
    expect(await link.client.sources.get(link.own('Product'))).toMatchObject({
      partition_type: 'app',
      read_only: true,
    });
  });

  it('[PG-65] a copy of many rows while they are written ends with exactly the rows of the table', async () => {
    const link = await openLink(
      servers(),
      [PRODUCTS, `INSERT INTO products SELECT n, 'p' || n, n FROM generate_series(1, 3000) n`],
      productMapping,
    );
    link.start();
    for (let round = 0; round < 20; round++) {
      await link.sql(
        `UPDATE products SET price = price + 1 WHERE id % 20 = ${round}`,
        `DELETE FROM products WHERE id % 97 = ${round}`,
        `INSERT INTO products SELECT 10000 + ${round} * 100 + n, 'new', n FROM generate_series(1, 50) n`,
        `UPDATE products SET id = id + 100000 WHERE id % 311 = ${round}`,
      );
    }
    await link.equals('Product', ['shared'], ALL_PRODUCTS);
    await link.copied();
    expect(link.progress.at(-1)).toMatchObject({ table: 'public.products', phase: 'ready' });
  });

  it('[PG-66] a column that is stored out of line and did not change keeps its value', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE notes (id int PRIMARY KEY, owner text, body text, title text)',
        'ALTER TABLE notes ALTER body SET STORAGE EXTERNAL',
        `INSERT INTO notes VALUES (1, '@north', repeat('a', 10000), 'first'), (2, '@north', repeat('b', 10000), 'second')`,
      ],
      (own) => ({
        tables: {
          'public.notes': { source: own('Note'), owner: { group: 'owner' }, columns: { body: 'body', title: 'title' } },
        },
      }),
    );
    const [north, south] = [link.own('north'), link.own('south')];
    const [a, b] = ['a'.repeat(10_000), 'b'.repeat(10_000)];
    link.start();
    await link.copied();
    await link.sql(`UPDATE notes SET title = 'changed' WHERE id = 1`);
    await link.holds({ Note: { north: { 1: { body: a, title: 'changed' }, 2: { body: b, title: 'second' } } } });
    // It is new where it goes to, so that the column has to be read.
    await link.sql(`UPDATE notes SET owner = '${south}' WHERE id = 1`, `UPDATE notes SET id = 3 WHERE id = 2`);
    await link.holds({
      Note: { south: { 1: { body: a, title: 'changed' } }, north: { 3: { body: b, title: 'second' } } },
    });
    await link.sql(
      `UPDATE notes SET owner = '${north}', title = 'back' WHERE id = 1`,
      'DELETE FROM notes WHERE id = 3',
    );
    await link.holds({ Note: { south: {}, north: { 1: { body: a, title: 'back' } } } });
  });

  it('[PG-67] a row that belongs to another owner leaves the one and enters the other, with the default replica identity', async () => {
    const link = await openLink(
      servers(),
      [
        ...ORDERS,
        `INSERT INTO orders SELECT n, CASE WHEN n % 2 = 0 THEN '@north' ELSE '@south' END, 'n' || n FROM generate_series(1, 10) n`,
      ],
      orderMapping,
    );
    link.start();
    const groups = ['north', 'south', 'east'];
    await matchesOrders(link, groups);
    await link.copied();
    await link.sql(
      `UPDATE orders SET crew = '${link.own('east')}' WHERE id <= 3`,
      `UPDATE orders SET crew = NULL WHERE id = 4`,
      `DELETE FROM orders WHERE id = 5`,
      `UPDATE orders SET crew = '${link.own('east')}' WHERE id = 6; UPDATE orders SET crew = '${link.own('south')}' WHERE id = 6`,
    );
    await matchesOrders(link, groups);
    await link.sql(`UPDATE orders SET crew = '${link.own('north')}', id = id + 100 WHERE id IN (4, 7)`);
    await matchesOrders(link, groups);
    // What the connector knew in memory is stored as well.
    await link.stop();
    await link.sql(`UPDATE orders SET crew = '${link.own('south')}' WHERE id = 1`, `DELETE FROM orders WHERE id = 2`);
    link.start();
    await matchesOrders(link, groups);
  });

  it('[PG-68] the children of a row follow it to another owner, and leave with it', async () => {
    const link = await openLink(
      servers(),
      [
        ...ORDERS,
        `INSERT INTO orders SELECT n, '@north', 'n' || n FROM generate_series(1, 4) n`,
        `INSERT INTO lines SELECT o, n, 'w' || n FROM generate_series(1, 4) o, generate_series(1, 30) n`,
      ],
      orderMapping,
    );
    const groups = ['north', 'south'];
    link.start();
    await matchesOrders(link, groups);
    await link.copied();
    await link.sql(`UPDATE orders SET crew = '${link.own('south')}' WHERE id = 1`);
    await matchesOrders(link, groups);
    await link.sql(
      `UPDATE orders SET crew = NULL WHERE id = 2`,
      `UPDATE lines SET order_id = 1, no = no + 100 WHERE order_id = 3 AND no < 10`,
      `DELETE FROM orders WHERE id = 4`,
    );
    await matchesOrders(link, groups);
    // Without a foreign key a child can come before its parent, and outlive it.
    await link.sql(`INSERT INTO lines VALUES (50, 1, 'early')`, `UPDATE lines SET ware = 'left' WHERE order_id = 4`);
    await link.sql(
      `INSERT INTO orders VALUES (50, '${link.own('south')}', 'late'), (4, '${link.own('north')}', 'again')`,
    );
    await matchesOrders(link, groups);
  });

  it('[PG-69] after TRUNCATE only the rows that came later are left', async () => {
    const link = await openLink(
      servers(),
      [PRODUCTS, `INSERT INTO products SELECT n, 'p' || n, n FROM generate_series(1, 2500) n`],
      productMapping,
    );
    link.start();
    await link.sql("TRUNCATE products; INSERT INTO products VALUES (7, 'seven', 7)");
    await link.equals('Product', ['shared'], ALL_PRODUCTS);
    await link.copied();
    await link.sql("INSERT INTO products SELECT n, 'again', n FROM generate_series(8, 2000) n");
    await link.equals('Product', ['shared'], ALL_PRODUCTS);
    await link.sql(
      "INSERT INTO products VALUES (1, 'x', 1); TRUNCATE products; INSERT INTO products VALUES (2, 'y', 2)",
    );
    await link.equals('Product', ['shared'], ALL_PRODUCTS);
  });

  it('[PG-70] a large transaction is applied in batches of bounded size', async () => {
    const link = await openLink(servers(), [PRODUCTS], productMapping);
    const pushed: number[] = [];
    const push = link.client.push.objects.bind(link.client.push);
    link.client.push.objects = (source, objects, options) => {
      pushed.push(objects instanceof Map ? objects.size : 0);
      return push(source, objects, options);
    };
    link.start();
    await link.copied();
    await link.sql(`INSERT INTO products SELECT n, 'p' || n, n FROM generate_series(1, 100000) n`);
    await expect
      .poll(
        async () =>
          (await link.client.documents.objects({ source: link.own('Product'), shared: true }, { limit: 1 })).size,
        {
          timeout: 120_000,
        },
      )
      .toBe(100_000);
    expect(Math.max(...pushed)).toBeLessThanOrEqual(10_000);
    expect(pushed.length).toBeLessThan(40);
  });
});
