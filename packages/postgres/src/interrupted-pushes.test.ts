import { TidemarkClient } from '@tidemark/backend';
import { type Link, openLink, type Tables, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it } from 'vitest';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

/** A client that ends the connector where it notes whose rows are, as if it were killed after it has pushed them. */
function clientThatForgets({ name }: Link): TidemarkClient {
  const { tidemark } = servers();
  return new TidemarkClient({
    url: tidemark.url,
    token: tidemark.token,
    retry: { attemptsMax: 1 },
    platform: {
      fetch: async (url, init) => {
        if (String(url).includes(`tidemark.postgres.${name}/push_objects`)) throw new Error('killed');
        return fetch(url, init);
      },
    },
  });
}

/** Ends the connector between the rows of the statement and the notes about them. */
async function interrupt(link: Link, ...statements: readonly string[]): Promise<void> {
  await link.copied();
  await link.stop();
  link.start({ client: clientThatForgets(link) });
  await link.sql(...statements);
  expect(await link.ended()).toMatchObject({ code: 'unreachable' });
}

/** The slot is made anew, so that the stream does not repeat what was interrupted. */
async function loseSlot(link: Link): Promise<void> {
  const { slot } = link.mapping;
  const drop = () => link.sql(`SELECT pg_drop_replication_slot('${slot}')`).then(() => 'dropped', String);
  await expect.poll(drop, WAIT).toBe('dropped');
}

const orders = (own: (name: string) => string): Tables['tables'] => ({
  'public.orders': { source: own('Order'), owner: { group: 'crew' }, columns: { note: 'note' } },
});
const wares = (own: (name: string) => string): Tables['tables'] => ({
  'public.wares': { source: own('Ware'), owner: 'shared' },
});

function openOrders(): Promise<Link> {
  return openLink(
    servers(),
    [
      'CREATE TABLE orders (id int PRIMARY KEY, crew text, note text)',
      'CREATE TABLE wares (id int PRIMARY KEY)',
      `INSERT INTO orders VALUES (1, '@north', 'a')`,
    ],
    (own) => ({ tables: { ...orders(own), ...wares(own) } }),
  );
}

const ordersOf = (link: Link, group: string) =>
  link.client.documents.read({ source: link.own('Order'), group: link.own(group) }, 'md');

describe('a connector that ends between rows and the notes whose they are', () => {
  it('[PG-341] a new row leaves with its table when that is taken out of the mapping', async () => {
    const link = await openOrders();
    link.start();
    await interrupt(link, `INSERT INTO orders VALUES (2, '${link.own('south')}', 'b')`);
    expect(await ordersOf(link, 'south')).toEqual({ 2: { note: 'b' } });
    link.start({}, { tables: wares((name) => link.own(name)) });
    await link.holds({ Order: { north: {}, south: {} } });
  });

  it('[PG-341] a new row that is deleted or moves while the slot is lost is only where SQL says', async () => {
    const link = await openOrders();
    const [north, south] = [link.own('north'), link.own('south')];
    link.start();
    await interrupt(
      link,
      `INSERT INTO orders VALUES (2, '${south}', 'b'), (3, '${south}', 'c'); UPDATE orders SET crew = '${south}' WHERE id = 1`,
    );
    expect(await ordersOf(link, 'south')).toEqual({ 1: { note: 'a' }, 2: { note: 'b' }, 3: { note: 'c' } });
    await loseSlot(link);
    await link.sql('DELETE FROM orders WHERE id = 2', `UPDATE orders SET crew = '${north}'`);
    link.start();
    await link.holds({ Order: { north: { 1: { note: 'a' }, 3: { note: 'c' } }, south: {} } });
    expect(link.heals).toEqual(['slot_lost']);
  });

  it('[PG-341] a membership of a row that is deleted or changes while the slot is lost ends', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE wares (id int PRIMARY KEY)',
        'CREATE TABLE crews (id int PRIMARY KEY, login text, crew text)',
        `INSERT INTO crews VALUES (1, '@ada', '@north')`,
      ],
      (own) => ({ tables: wares(own), members: { 'public.crews': { user: 'login', group: 'crew' } } }),
    );
    await link.users('ada', 'bob');
    const groups = async () => {
      const of = async (name: string) => [...(await link.client.groups.of(link.own(name))).groups].sort();
      return { ada: await of('ada'), bob: await of('bob') };
    };
    const [south, east] = [link.own('south'), link.own('east')];
    link.start();
    await interrupt(
      link,
      `INSERT INTO crews VALUES (2, '${link.own('bob')}', '${south}'); UPDATE crews SET crew = '${south}' WHERE id = 1`,
    );
    await expect.poll(groups, WAIT).toEqual({ ada: [south], bob: [south] });
    await loseSlot(link);
    await link.sql('DELETE FROM crews WHERE id = 2', `UPDATE crews SET crew = '${east}' WHERE id = 1`);
    link.start();
    await expect.poll(groups, WAIT).toEqual({ ada: [east], bob: [] });
  });
});
