import { openLink, type Tables, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';

const servers = useServers();

const PRODUCTS = 'CREATE TABLE products (id int PRIMARY KEY, name text, price int)';
const VISITS = 'CREATE TABLE visits (id int PRIMARY KEY, crew text, place text)';
const products = (own: (name: string) => string): Tables => ({
  tables: { 'public.products': { source: own('Product'), owner: 'shared' } },
});
const both = (own: (name: string) => string): Tables => ({
  tables: {
    ...products(own).tables,
    'public.visits': { source: own('Visit'), owner: { group: 'crew' }, columns: { place: 'place' } },
  },
});

describe('changes of tables and of the mapping', () => {
  it('[PG-75] a column that is added, renamed, retyped or dropped reaches all rows, also those that nobody changes', async () => {
    const link = await openLink(
      servers(),
      [PRODUCTS, `INSERT INTO products VALUES (1, 'a', 1), (2, 'b', 2)`],
      products,
    );
    // Each change waits for the copy that the one before has begun: a chunk whose column is dropped ends the run, which begins again.
    const touch = `UPDATE products SET name = name || '!' WHERE id = 2`;
    link.start();
    await link.copied();
    await link.sql(`ALTER TABLE products ADD stock int NOT NULL DEFAULT 7`, touch);
    await link.holds({
      Product: { shared: { 1: { name: 'a', price: 1, stock: 7 }, 2: { name: 'b!', price: 2, stock: 7 } } },
    });
    await link.copied();
    await link.sql(`ALTER TABLE products RENAME price TO cost`, touch);
    await link.holds({
      Product: { shared: { 1: { name: 'a', cost: 1, stock: 7 }, 2: { name: 'b!!', cost: 2, stock: 7 } } },
    });
    await link.copied();
    await link.sql(`ALTER TABLE products ALTER cost TYPE text`, touch);
    await link.holds({
      Product: { shared: { 1: { name: 'a', cost: '1', stock: 7 }, 2: { name: 'b!!!', cost: '2', stock: 7 } } },
    });
    await link.copied();
    await link.sql(`ALTER TABLE products DROP stock`, touch);
    await link.holds({ Product: { shared: { 1: { name: 'a', cost: '1' }, 2: { name: 'b!!!!', cost: '2' } } } });
    await link.stop();
    await link.sql(`ALTER TABLE products ADD unit text DEFAULT 'kg'`);
    link.start();
    await link.holds({
      Product: { shared: { 1: { name: 'a', cost: '1', unit: 'kg' }, 2: { name: 'b!!!!', cost: '2', unit: 'kg' } } },
    });
  });

  it('[PG-75] a column that is added, retyped or made more precise reaches the rows of a table that nobody writes to', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE products (id int PRIMARY KEY, price int, at timestamptz(0))',
        `INSERT INTO products VALUES (1, 5, '2026-03-01 10:00:00Z')`,
      ],
      products,
    );
    link.start();
    const at = '2026-03-01T10:00:00Z';
    await link.holds({ Product: { shared: { 1: { price: 5, at } } } });
    await link.copied();
    await link.sql(`ALTER TABLE products ADD unit text DEFAULT 'kg'`);
    await link.holds({ Product: { shared: { 1: { price: 5, at, unit: 'kg' } } } });
    await link.copied();
    await link.sql('ALTER TABLE products ALTER price TYPE numeric(6,2)');
    await link.holds({ Product: { shared: { 1: { price: '5.00', at, unit: 'kg' } } } });
    await link.copied();
    await link.sql('ALTER TABLE products ALTER price TYPE numeric(8,3)');
    await link.holds({ Product: { shared: { 1: { price: '5.000', at, unit: 'kg' } } } });
    await link.copied();
    await link.sql('ALTER TABLE products DROP price', 'ALTER TABLE products RENAME unit TO sold_by');
    await link.holds({ Product: { shared: { 1: { at, sold_by: 'kg' } } } });
  });

  it('[PG-75] a column that becomes more precise loses no digits of what is written at once', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE products (id int PRIMARY KEY, at timestamptz(0))',
        `INSERT INTO products VALUES (1, '2026-03-01 10:00:00Z')`,
      ],
      products,
    );
    // No heartbeat tells of it before the row does.
    link.start({ heartbeatMs: 600_000 });
    await link.holds({ Product: { shared: { 1: { at: '2026-03-01T10:00:00Z' } } } });
    await link.sql(
      'ALTER TABLE products ALTER at TYPE timestamptz(3)',
      `UPDATE products SET at = '2026-03-01 10:00:00.123Z'`,
    );
    await link.holds({ Product: { shared: { 1: { at: '2026-03-01T10:00:00.123Z' } } } });
  });

  it('[PG-293] another primary key of a table that is connected gives its rows other ids, and their deletions are followed', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE products (id int PRIMARY KEY, code text NOT NULL UNIQUE)',
        `INSERT INTO products VALUES (1, 'a'), (2, 'b'), (3, 'c')`,
      ],
      products,
    );
    link.start();
    await link.holds({ Product: { shared: { 1: { code: 'a' }, 2: { code: 'b' }, 3: { code: 'c' } } } });
    await link.copied();
    await link.sql('ALTER TABLE products DROP CONSTRAINT products_pkey, ADD PRIMARY KEY (code)');
    await link.sql(`DELETE FROM products WHERE code = 'b'`);
    await link.holds({ Product: { shared: { a: { id: 1 }, c: { id: 3 } } } });
    await link.sql(`DELETE FROM products WHERE code = 'c'`);
    await link.holds({ Product: { shared: { a: { id: 1 } } } });
  });

  it('[PG-76] a table that is added to the mapping is copied alone, and what is left of one that is taken out is deleted', async () => {
    const link = await openLink(
      servers(),
      [
        PRODUCTS,
        VISITS,
        `INSERT INTO products VALUES (1, 'a', 1)`,
        `INSERT INTO visits VALUES (1, '@north', 'x'), (2, '@south', 'y')`,
      ],
      products,
    );
    const own = (name: string) => link.own(name);
    link.start();
    await link.copied();
    await link.stop();
    link.progress.length = 0;
    link.start({}, both(own));
    await link.holds({ Visit: { north: { 1: { place: 'x' } }, south: { 2: { place: 'y' } } } });
    await link.copied();
    expect(new Set(link.progress.map(({ table }) => table))).toEqual(new Set(['public.visits']));
    await link.stop();
    link.start(
      {},
      { tables: { 'public.visits': both(own).tables['public.visits'] ?? { source: '', owner: 'shared' } } },
    );
    await link.holds({
      Product: { shared: {} },
      Visit: { north: { 1: { place: 'x' } }, south: { 2: { place: 'y' } } },
    });
    await link.stop();
    link.start({}, products(own));
    await link.holds({ Product: { shared: { 1: { name: 'a', price: 1 } } }, Visit: { north: {}, south: {} } });
    await link.copied();
  });

  it('[PG-77] another owner, attribute or source in the mapping moves the rows that are there', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE jobs (id int PRIMARY KEY, crew text, region text, what text)',
        `INSERT INTO jobs VALUES (1, '@north', '@east', 'w')`,
      ],
      (own) => ({
        tables: { 'public.jobs': { source: own('Job'), owner: { group: 'crew' }, columns: { what: 'what' } } },
      }),
    );
    const mapped = (source: string, column: string, attribute: string): Tables => ({
      tables: { 'public.jobs': { source: link.own(source), owner: { group: column }, columns: { what: attribute } } },
    });
    link.start();
    await link.holds({ Job: { north: { 1: { what: 'w' } } } });
    await link.stop();
    link.start({}, mapped('Job', 'region', 'task'));
    await link.holds({ Job: { north: {}, east: { 1: { task: 'w' } } } });
    await link.stop();
    link.start({}, mapped('Work', 'region', 'task'));
    await link.holds({ Job: { east: {} }, Work: { east: { 1: { task: 'w' } } } });
  });
});
