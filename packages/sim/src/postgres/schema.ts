/** Makes the tables of a history. Long texts are stored out of line and uncompressed. */
export const SCHEMA: readonly string[] = [
  `CREATE TABLE wares (id int PRIMARY KEY, name text, price numeric, stock int8, extra jsonb, photo bytea, tags text[],
    made timestamptz DEFAULT '2026-01-02 03:04:05.678+00', body text)`,
  'CREATE TABLE notes (id int PRIMARY KEY, owner text, title text, body text, made timestamptz(3))',
  'CREATE TABLE orders (id int PRIMARY KEY, crew text, note text, body text, amount int8)',
  'CREATE TABLE lines (id int, part text, order_id int, ware text, body text, PRIMARY KEY (id, part))',
  'CREATE TABLE members (id int PRIMARY KEY, login text, crew text)',
  'CREATE TABLE users (id int PRIMARY KEY, login text UNIQUE, name text)',
  ...['wares', 'notes', 'orders', 'lines'].map((table) => `ALTER TABLE ${table} ALTER body SET STORAGE EXTERNAL`),
  'CREATE PUBLICATION tidemark FOR ALL TABLES',
];

/** Rows that the connector finds. */
export function firstRows(wares: number): readonly string[] {
  return [
    `INSERT INTO wares (id, name, price) SELECT n, 'n' || n, n FROM generate_series(1, ${wares}) n`,
    `INSERT INTO notes SELECT n, CASE n % 2 WHEN 0 THEN '@ann' ELSE '@bob' END, 't' || n, repeat('b' || n, 1500), now() FROM generate_series(1, 6) n`,
    `INSERT INTO orders SELECT n, CASE n % 3 WHEN 0 THEN '@north' WHEN 1 THEN '@south' ELSE '@east' END, 'o' || n, repeat('b' || n, 1500) FROM generate_series(1, 6) n`,
    `INSERT INTO lines SELECT n, p, n, 'l' || n, repeat('b' || n, 1500) FROM generate_series(1, 6) n, unnest(ARRAY['a', 'b/c']) p`,
    `INSERT INTO members VALUES (1, '@ann', '@north'), (2, '@ann', '@south'), (3, '@bob', '@east'), (4, '@eve', '@north')`,
    `INSERT INTO users VALUES (1, '@eve', 'Eve'), (2, '@ann', 'Ann')`,
  ];
}

/** The last change of a history: one row in each table, so that the stream describes all of them as they are now. */
export const LAST_ROWS: readonly string[] = [
  `INSERT INTO wares (id, name) VALUES (5000, 'last')`,
  `INSERT INTO notes VALUES (5000, '@ann', 'last')`,
  `INSERT INTO orders (id, crew, note) VALUES (5000, '@north', 'last')`,
  `INSERT INTO lines VALUES (5000, 'a', 5000, 'last')`,
  `INSERT INTO members VALUES (5000, '@bob', '@south')`,
  `INSERT INTO users VALUES (5000, '@last', 'Last')`,
];
