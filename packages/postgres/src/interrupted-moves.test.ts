import { TidemarkClient } from '@tidemark/backend';
import { itLong } from '@tidemark/testing';
import { type Link, openLink, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

/** A client that cannot push to a source, so that a connector that uses it ends there, as if it were killed. */
function clientWithout(source: string): TidemarkClient {
  const { tidemark } = servers();
  return new TidemarkClient({
    url: tidemark.url,
    token: tidemark.token,
    retry: { attemptsMax: 1 },
    platform: {
      fetch: async (url, init) => {
        if (String(url).includes(source) && /push_(?:objects|partitions)/.test(String(url))) throw new Error('killed');
        return fetch(url, init);
      },
    },
  });
}

/** Ends the connector where it pushes to a source for the first time, and starts it again. */
async function interrupt(link: Link, source: string, ...statements: readonly string[]): Promise<void> {
  await link.copied();
  await link.stop();
  link.start({ client: clientWithout(link.own(source)) });
  await link.sql(...statements);
  expect(await link.ended()).toMatchObject({ code: 'unreachable' });
  link.start();
}

function openOrders(): Promise<Link> {
  return openLink(
    servers(),
    [
      'CREATE TABLE orders (id int PRIMARY KEY, crew text)',
      'CREATE TABLE lines (id int PRIMARY KEY, order_id int, ware text)',
      `INSERT INTO orders VALUES (1, '@north'), (2, '@south')`,
      `INSERT INTO lines VALUES (1, 1, 'a'), (2, 2, 'b'), (3, 1, 'c')`,
    ],
    (own) => ({
      tables: {
        'public.orders': { source: own('Order'), owner: { group: 'crew' } },
        'public.lines': {
          source: own('Line'),
          owner: { through: ['order_id'], parent: 'public.orders' },
          columns: { ware: 'ware' },
        },
      },
    }),
  );
}

describe('a connector that ends between a move and what follows from it', () => {
  it('[PG-334] children follow a parent that has moved, after a restart as well', async () => {
    const link = await openOrders();
    link.start();
    await interrupt(link, 'Line', `UPDATE orders SET crew = '${link.own('south')}' WHERE id = 1`);
    const [a, b, c] = [{ ware: 'a' }, { ware: 'b' }, { ware: 'c' }];
    await link.holds({ Line: { north: {}, south: { 1: a, 2: b, 3: c } } });
  });

  it('[PG-334] children leave with a parent that was deleted, after a restart as well', async () => {
    const link = await openOrders();
    link.start();
    await interrupt(link, 'Line', 'DELETE FROM orders WHERE id = 1');
    await link.holds({ Line: { north: {}, south: { 2: { ware: 'b' } } } });
  });

  it('[PG-334] children leave with parents that were truncated, after a restart as well', async () => {
    const link = await openOrders();
    link.start();
    await interrupt(link, 'Line', 'TRUNCATE orders');
    await link.holds({ Line: { north: {}, south: {} } });
    const pending = async () => (await link.state()).pending;
    await expect.poll(pending, WAIT).toEqual([]);
  });

  itLong(
    '[PG-334] more children than are read by their parents follow by a copy of their table, after a restart as well',
    async () => {
      const link = await openOrders();
      await link.sql(
        `INSERT INTO orders SELECT n, '${link.own('north')}' FROM generate_series(10, 10100) n`,
        `INSERT INTO lines SELECT n, n, 'many' FROM generate_series(10, 10100) n`,
      );
      link.start();
      await interrupt(link, 'Line', `UPDATE orders SET crew = '${link.own('south')}'`);
      await link.copied();
      const count = async (group: string) =>
        (await link.client.documents.objects({ source: link.own('Line'), group: link.own(group) }, { limit: 1 })).size;
      await expect.poll(() => Promise.all(['north', 'south'].map(count)), WAIT).toEqual([0, 10_094]);
    },
  );

  it('[PG-335] a user who is created again gets the rows and groups of before, after a restart as well', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE tasks (id int PRIMARY KEY, login text, title text)',
        'CREATE TABLE people (id int PRIMARY KEY, login text)',
        `INSERT INTO people VALUES (1, '@ada')`,
        `INSERT INTO tasks VALUES (1, '@ada', 'a')`,
      ],
      (own) => ({
        tables: { 'public.tasks': { source: own('Task'), owner: { user: 'login' }, columns: { title: 'title' } } },
        users: { 'public.people': { login: 'login' } },
      }),
    );
    const ada = link.own('ada');
    const isThere = async () =>
      link.client.users.get(ada).then(
        () => true,
        () => false,
      );
    link.start();
    await link.copied();
    await link.sql('DELETE FROM people');
    await expect.poll(isThere, WAIT).toBe(false);
    await interrupt(link, 'Task', `INSERT INTO people VALUES (2, '${ada}')`);
    await link.holds({ Task: { ada: { 1: { title: 'a' } } } });
  });
});
