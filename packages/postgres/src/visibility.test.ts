import { TidemarkClient } from '@tidemark/backend';
import { makeUser, openDevice } from '@tidemark/testing';
import { type Link, openLink, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

/** A client whose calls wait from the first one on that `isHeld` chooses, until `release`. */
function holdingClient(isHeld: (url: string, body: string) => boolean) {
  const { tidemark } = servers();
  let release: () => void = () => undefined;
  let hold: () => void = () => undefined;
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const held = new Promise<void>((resolve) => {
    hold = resolve;
  });
  onTestFinished(() => release());
  const client = new TidemarkClient({
    url: tidemark.url,
    token: tidemark.token,
    timeoutMs: 120_000,
    platform: {
      fetch: async (url, init) => {
        if (isHeld(String(url), String(init?.body ?? ''))) {
          hold();
          await released;
        }
        return fetch(url, init);
      },
    },
  });
  return { client, held, release };
}

/** A client whose calls fail as soon as `isFailing` chooses one. */
function failingClient(isFailing: (url: string, method: string) => boolean): TidemarkClient {
  const { url, token } = servers().tidemark;
  const platform = {
    fetch: async (address: string, init?: RequestInit) => {
      if (isFailing(address, init?.method ?? 'GET')) throw new Error('killed');
      return fetch(address, init);
    },
  };
  return new TidemarkClient({ url, token, retry: { attemptsMax: 1 }, platform });
}

/** A device of a user, who is made for it. */
async function deviceOf(link: Link, name: string) {
  const { tidemark } = servers();
  await makeUser(tidemark, link.own(name));
  const { api, id } = await openDevice(tidemark, link.own(name));
  const pull = async (sources: Readonly<Record<string, object>>) => {
    const named = Object.fromEntries(Object.entries(sources).map(([source, asked]) => [link.own(source), asked]));
    const { body } = await api.post('/sync/v1/pull', { client_id: id, sources: named });
    const { sources: pages } = body as { sources: Record<string, unknown> };
    return Object.fromEntries(Object.keys(sources).map((source) => [source, pages[link.own(source)]]));
  };
  return { pull };
}

const FILLING = { error: { code: 'refresh_pending' } };
const rows = (count: number) => `INSERT INTO wares SELECT n, 'w' || n FROM generate_series(1, ${count}) n`;
const WARES = 'CREATE TABLE wares (id int PRIMARY KEY, name text)';

describe('what devices see of a table', () => {
  it('[PG-272] nothing while it is copied for the first time, and all of it afterwards', async () => {
    const link = await openLink(servers(), [WARES, rows(1_500)], (own) => ({
      tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } },
    }));
    let pushes = 0;
    const { client, held, release } = holdingClient(
      (url) => /push_(?:objects|partitions)/.test(url) && url.includes(link.own('Ware')) && ++pushes > 1,
    );
    const { pull } = await deviceOf(link, 'ada');
    link.start({ client });
    await held;
    const stored = await link.client.documents.objects({ source: link.own('Ware'), shared: true }, { limit: 1 });
    expect(stored.size).toBeGreaterThan(0);
    expect(await pull({ Ware: {} })).toMatchObject({ Ware: FILLING });
    release();
    await expect.poll(() => pull({ Ware: {} }), WAIT).toMatchObject({ Ware: { size: 1_500 } });
    const { filling } = await link.client.sources.get(link.own('Ware'));
    expect(filling).toBe(false);
  });

  it('[PG-272] a connector that ends between the last row and the end of the copy shows it after a restart', async () => {
    const link = await openLink(servers(), [WARES, rows(10)], (own) => ({
      tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } },
    }));
    const { pull } = await deviceOf(link, 'ada');
    link.start({ client: failingClient((url, method) => method === 'PUT' && url.includes('/sources/')) });
    expect(await link.ended()).toMatchObject({ code: 'unreachable' });
    expect(await pull({ Ware: {} })).toMatchObject({ Ware: FILLING });
    expect((await link.state()).tables['public.wares']?.phase.name).toBe('ready');
    link.start();
    await expect.poll(() => pull({ Ware: {} }), WAIT).toMatchObject({ Ware: { size: 10 } });
  });

  it('[PG-273] a table stays visible while it is copied again, after a lost slot or for a new column', async () => {
    const link = await openLink(servers(), [WARES, rows(1_500)], (own) => ({
      tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } },
    }));
    const { pull } = await deviceOf(link, 'ada');
    link.start();
    await expect.poll(() => pull({ Ware: {} }), WAIT).toMatchObject({ Ware: { size: 1_500 } });
    await link.stop();
    await link.database.sql`SELECT pg_drop_replication_slot(${link.mapping.slot})`;
    await link.sql(`ALTER TABLE wares ADD unit text DEFAULT 'kg'`);
    const { client, held, release } = holdingClient((url) => /push_(?:objects|partitions)/.test(url));
    link.start({ client });
    await held;
    expect(await pull({ Ware: {} })).toMatchObject({ Ware: { size: 1_500 } });
    release();
    await link.copied();
    expect(link.heals).toEqual(['slot_lost']);
    expect(await pull({ Ware: {} })).toMatchObject({ Ware: { size: 1_500 } });
  });

  it('[PG-274] the tables of groups are seen when those of their members and of their parents are copied, too', async () => {
    const link = await openLink(
      servers(),
      [
        'CREATE TABLE orders (id int PRIMARY KEY, crew text)',
        'CREATE TABLE lines (id int PRIMARY KEY, order_id int)',
        'CREATE TABLE crews (login text, crew text, PRIMARY KEY (login, crew))',
        WARES,
        rows(3),
        `INSERT INTO orders VALUES (1, '@north'), (2, '@south')`,
        'INSERT INTO lines SELECT n, n % 2 + 1 FROM generate_series(1, 20) n',
        `INSERT INTO crews VALUES ('@ada', '@north'), ('@ada', '@south')`,
      ],
      (own) => ({
        tables: {
          'public.lines': { source: own('Line'), owner: { through: ['order_id'], parent: 'public.orders' } },
          'public.orders': { source: own('Order'), owner: { group: 'crew' } },
          'public.wares': { source: own('Ware'), owner: 'shared' },
        },
        members: { 'public.crews': { user: 'login', group: 'crew' } },
      }),
    );
    const { client, held, release } = holdingClient((url) => /users.*groups/.test(url));
    const { pull } = await deviceOf(link, 'ada');
    link.start({ client });
    await held;
    const asked = { Order: { groups: {} }, Line: { groups: {} }, Ware: {} };
    // What is everybody's needs no members.
    expect(await pull(asked)).toMatchObject({ Order: FILLING, Line: FILLING, Ware: { size: 3 } });
    release();
    const [north, south] = [link.own('north'), link.own('south')];
    await expect
      .poll(() => pull(asked), WAIT)
      .toMatchObject({
        Order: { groups: { [north]: { size: 1 }, [south]: { size: 1 } } },
        Line: { groups: { [north]: { size: 10 }, [south]: { size: 10 } } },
      });
  });

  it('[PG-272] a source that others have declared is hidden, too, until its table is copied', async () => {
    const link = await openLink(servers(), [WARES, rows(5)], (own) => ({
      tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } },
    }));
    await link.client.sources.declare({ name: link.own('Ware'), partition_type: 'app' });
    const { client, held, release } = holdingClient((url) => /push_(?:objects|partitions)/.test(url));
    const { pull } = await deviceOf(link, 'ada');
    link.start({ client });
    await held;
    expect(await pull({ Ware: {} })).toMatchObject({ Ware: FILLING });
    release();
    await expect.poll(() => pull({ Ware: {} }), WAIT).toMatchObject({ Ware: { size: 5 } });
  });

  it('[PG-272] a table that is taken out of the mapping before it is copied leaves a source that is empty, not one that is filled for ever', async () => {
    const link = await openLink(servers(), [WARES, 'CREATE TABLE tools (id int PRIMARY KEY)', rows(5)], (own) => ({
      tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } },
    }));
    const { pull } = await deviceOf(link, 'ada');
    link.start({ client: failingClient((url) => /push_(?:objects|partitions)/.test(url)) });
    expect(await link.ended()).toMatchObject({ code: 'unreachable' });
    expect(await pull({ Ware: {} })).toMatchObject({ Ware: FILLING });
    link.start({}, { tables: { 'public.tools': { source: link.own('Tool'), owner: 'shared' } } });
    await expect.poll(() => pull({ Ware: {}, Tool: {} }), WAIT).toMatchObject({ Ware: { size: 0 }, Tool: { size: 0 } });
  });

  it('[PG-352] nothing counts as fresh while tables are compared after a lost slot, although heartbeats come through', async () => {
    const link = await openLink(servers(), [WARES, rows(1_500)], (own) => ({
      tables: { 'public.wares': { source: own('Ware'), owner: 'shared' } },
    }));
    const order: string[] = [];
    const events = { onLag: () => void order.push('fresh') };
    link.start({ events });
    await expect.poll(() => order.length, WAIT).toBeGreaterThan(0);
    await link.copied();
    await link.stop();
    await link.database.sql`SELECT pg_drop_replication_slot(${link.mapping.slot})`;
    await link.sql('DELETE FROM wares WHERE id > 1000');
    order.length = 0;
    const state = new RegExp(`postgres\\.${link.name}\\b`);
    const { client } = holdingClient((url, body) => {
      const isState = state.test(url) && body !== '';
      if (isState) order.push(/copying|verifying|waiting/.test(body) ? 'comparing' : 'compared');
      return false;
    });
    link.start({ client, events });
    await expect.poll(() => order.includes('compared') && order.at(-1), WAIT).toBe('fresh');
    expect(order.slice(0, order.indexOf('compared'))).toEqual(expect.arrayContaining(['comparing']));
    expect(order.indexOf('fresh')).toBeGreaterThan(order.indexOf('compared'));
  });
});
