import { parseDatabaseUrl, RowBackend, type RowCall, systemClock } from '@tidemark/postgres';
import { openWrittenLink, type Tables, useServers, type WrittenLink } from '@tidemark/testing/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';
import { openSql } from './sql/open-sql.ts';
import { recentOperations } from './writing/operations.ts';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

const ORDERS = ['CREATE TABLE orders (id bigserial PRIMARY KEY, depot text NOT NULL, title text NOT NULL)'];
const mapping = (own: (name: string) => string): Tables => ({
  tables: {
    'public.orders': {
      ...{ source: own('Order'), owner: { group: 'depot' }, columns: { title: 'title' } },
      ...{ writable: ['title'], devices: { create: true, delete: true } },
    },
  },
});

/** The titles that Tidemark has of a group. */
async function titlesOf({ link }: WrittenLink, group: string): Promise<Readonly<Record<string, string>>> {
  const objects = await link.client.documents.read({ source: link.own('Order'), group: link.own(group) }, 'md');
  const titled = Object.entries(objects as Record<string, { readonly title: string }>);
  return Object.fromEntries(titled.map(([id, { title }]) => [id, title]));
}

/** As if no answer about what was done before could be under way any more. */
function age({ link }: WrittenLink): Promise<void> {
  return link.sql(`UPDATE tidemark.operations SET at = now() - interval '1 minute'`);
}

describe('rows that devices create', () => {
  it('[PG-251] a row that has moved to another group before a repeated answer is in the data of nobody else afterwards', async () => {
    const written = await openWrittenLink(servers(), ORDERS, mapping);
    const device = await written.device('ada', ['north']);
    const { link } = written;
    written.answersToLose = 1;
    written.beforeAnswer = async () => {
      written.beforeAnswer = async () => undefined;
      await age(written);
      await expect.poll(() => titlesOf(written, 'north'), WAIT).toEqual({ 1: 'a' });
      await link.sql(`UPDATE orders SET depot = '${link.own('south')}'`);
      await expect.poll(() => titlesOf(written, 'south'), WAIT).toEqual({ 1: 'a' });
    };
    await device.source(link.own('Order')).create({ title: 'a' });
    await expect.poll(() => device.uploads.list().length, WAIT).toBe(0);
    await age(written);
    const both = async () => [await titlesOf(written, 'north'), await titlesOf(written, 'south')];
    await expect.poll(both, WAIT).toEqual([{}, { 1: 'a' }]);
    await written.shows(device, 'Order', {});
  });

  it('[PG-251] a row that was deleted before a repeated answer stays deleted', async () => {
    const written = await openWrittenLink(servers(), ORDERS, mapping);
    const device = await written.device('ada', ['north']);
    written.answersToLose = 1;
    written.beforeAnswer = async () => {
      // On a slow machine the call is repeated before this one has ended.
      written.beforeAnswer = async () => {
        await written.link.sql('DELETE FROM orders');
        await expect.poll(() => titlesOf(written, 'north'), WAIT).toEqual({});
      };
      await age(written);
      await expect.poll(() => titlesOf(written, 'north'), WAIT).toEqual({ 1: 'a' });
    };
    await device.source(written.link.own('Order')).create({ title: 'a' });
    await expect.poll(() => device.uploads.list().length, WAIT).toBe(0);
    await age(written);
    await written.shows(device, 'Order', {});
    expect(await titlesOf(written, 'north')).toEqual({});
  });

  it('[PG-251] a table that is truncated before the answer has no row in Tidemark afterwards', async () => {
    const written = await openWrittenLink(servers(), ORDERS, mapping);
    const device = await written.device('ada', ['north']);
    const { progress } = written.link;
    written.beforeAnswer = async () => {
      const before = progress.length;
      await written.link.sql('TRUNCATE orders');
      await expect.poll(() => progress.slice(before).some(({ phase }) => phase === 'ready'), WAIT).toBe(true);
    };
    await device.source(written.link.own('Order')).create({ title: 'a' });
    await expect.poll(() => device.uploads.list().length, WAIT).toBe(0);
    await written.shows(device, 'Order', {});
  });

  it('[PG-252] a row that has the key of a deleted one is read once more when no answer can be under way', async () => {
    const written = await openWrittenLink(
      servers(),
      [
        'CREATE TABLE orders (sku text PRIMARY KEY, depot text NOT NULL, title text NOT NULL)',
        `CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.title := upper(NEW.title); RETURN NEW; END $$`,
        'CREATE TRIGGER shout BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION shout()',
        `INSERT INTO orders VALUES ('x', '@north', 'old')`,
      ],
      (own) => ({
        tables: {
          'public.orders': {
            ...{ source: own('Order'), owner: { group: 'depot' }, columns: { sku: 'sku', title: 'title' } },
            ...{ writable: ['title'], devices: { create: ['sku'] } },
          },
        },
      }),
    );
    const device = await written.device('ada', ['north']);
    await expect.poll(() => titlesOf(written, 'north'), WAIT).toEqual({ x: 'OLD' });
    await written.link.stop();
    await written.link.sql(`DELETE FROM orders`);
    written.beforeAnswer = async () => {
      written.link.start({ adapter: 'backend' });
      await expect.poll(() => titlesOf(written, 'north'), WAIT).toEqual({ x: 'NEW' });
    };
    await device.source(written.link.own('Order')).create({ sku: 'x', title: 'new' });
    await expect.poll(() => device.uploads.list().length, WAIT).toBe(0);
    await age(written);
    await written.shows(device, 'Order', { x: { sku: 'x', title: 'NEW' } });
  });

  it('[PG-253] rows are held back also while the database does not say how old their operations are', async () => {
    const database = await servers().postgres.createDatabase();
    const sql = openSql(parseDatabaseUrl(database.url));
    expect(await recentOperations(sql, ['a'])).toEqual(new Set());
    await sql.end();
    expect(await recentOperations(sql, ['a'])).toEqual(new Set(['a']));
  });

  it('[PG-254] messages in the log that are not of this connector hold nothing back and do no harm', async () => {
    const written = await openWrittenLink(servers(), ORDERS, mapping);
    const { link } = written;
    const message = { connector: 'other', opId: 'x', table: 'public.orders', id: '1', owner: link.own('north') };
    const emit = (content: string) => `SELECT pg_logical_emit_message(true, 'tidemark.created', '${content}')`;
    await link.sql(
      `BEGIN; INSERT INTO orders (depot, title) VALUES ('${link.own('north')}', 'a');
       INSERT INTO tidemark.operations (op_id, object_id, at) VALUES ('x', '1', now() + interval '1 day');
       ${emit(JSON.stringify({ ...message, isRepeated: false }))}; COMMIT`,
      emit('{'),
      emit('null'),
      emit('{"connector":7}'),
      `INSERT INTO orders (depot, title) VALUES ('${link.own('north')}', 'b')`,
    );
    await link.holds({ Order: { north: { 1: { title: 'a' }, 2: { title: 'b' } } } });
  });

  it('[PG-255] a change that the database does not make in time is tried again, and its late answer counts for nothing', async () => {
    const written = await openWrittenLink(servers(), ORDERS, mapping);
    const { client, name, mapping: mapped, database } = written.link;
    const address = parseDatabaseUrl(database.url);
    let nowMs = 0;
    let isSlow = true;
    const clock = {
      ...systemClock,
      nowMs: () => {
        if (isSlow) nowMs += 20_000;
        return nowMs;
      },
    };
    const backend = new RowBackend({ client, name, address, mapping: mapped, mappingFile: 'map.jsonc', clock });
    onTestFinished(() => backend.close());
    await written.link.users('ada');
    const call: RowCall = {
      ...{ op: 'create', source: written.link.own('Order'), user_id: written.link.own('ada'), op_id: 'device:1' },
      ...{ group: written.link.own('north'), id: 'temporary', attributes: { title: 'Once' } },
    };
    await expect(backend.write(call)).rejects.toThrow('the database did not make the change in time');
    isSlow = false;
    expect(await backend.write(call)).toBe('1');
    expect(await written.rows('SELECT title FROM orders')).toEqual([{ title: 'Once' }]);
  });
});
