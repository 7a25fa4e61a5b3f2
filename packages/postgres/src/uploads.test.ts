import { parseDatabaseUrl, RowBackend, type RowCall, systemClock } from '@tidemark/postgres';
import { openWrittenLink, type Tables, useServers } from '@tidemark/testing/postgres';
import { describe, expect, it, onTestFinished } from 'vitest';

const servers = useServers();
const WAIT = { timeout: 120_000, interval: 30 };

const ORDERS = [
  `CREATE TABLE orders (id bigserial PRIMARY KEY, depot text NOT NULL, title text NOT NULL, price numeric(10,2) CHECK (price >= 0),
    state text NOT NULL DEFAULT 'new')`,
  'CREATE TABLE lines (id bigserial PRIMARY KEY, order_id bigint NOT NULL REFERENCES orders, ware text)',
];
const orderMapping =
  (more: object = {}) =>
  (own: (name: string) => string): Tables => ({
    tables: {
      'public.orders': {
        ...{ source: own('Order'), owner: { group: 'depot' } },
        columns: { title: 'title', price: 'price', state: 'state', depot: 'depot' },
        ...{ writable: ['title', 'price', 'state'], devices: { create: true, delete: true } },
        ...more,
      },
      'public.lines': {
        ...{ source: own('Line'), owner: { through: ['order_id'], parent: 'public.orders' } },
        columns: { order_id: 'order', ware: 'ware' },
        ...{ writable: ['ware'], devices: { create: ['order_id'], delete: true } },
      },
    },
  });

const order = (title: string, more: object = {}) => ({ title, price: null, state: 'new', ...more });

describe('changes of devices', () => {
  it('[PG-240] what a device has created and edited offline becomes one row under the id that the database chooses, and the device never shows it twice', async () => {
    const written = await openWrittenLink(servers(), ORDERS, orderMapping());
    const device = await written.device('ada', ['north']);
    const orders = device.source(written.link.own('Order'));
    const counts = new Set<number>();
    orders.subscribe(() => counts.add(orders.list().length));
    // The stream has a long time to be first.
    written.beforeAnswer = async () => {
      await written.link.sql(`SELECT pg_logical_emit_message(true, 'other', 'x')`);
      await new Promise((resolve) => setImmediate(resolve));
    };
    device.goOffline();
    const made = await orders.create({ title: 'Pump', price: '12.5' });
    await device.write((draft) => draft.create(written.link.own('Line'), { order: made.id, ware: 'seal' }));
    device.goOnline();
    await orders.update(made.id, { title: 'Pump 2' });
    const depot = written.link.own('north');
    await written.shows(device, 'Order', { 1: { depot, title: 'Pump 2', price: '12.50', state: 'new' } });
    await written.shows(device, 'Line', { 1: { order: '1', ware: 'seal' } });
    expect([...counts]).toEqual([1]);
    expect(orders.get(made.id)?.id).toBe('1');
    expect(await written.rows('SELECT id, title FROM orders')).toEqual([{ id: '1', title: 'Pump 2' }]);
    expect(await written.rows('SELECT order_id, ware FROM lines')).toEqual([{ order_id: '1', ware: 'seal' }]);
  });

  it('[PG-241] a change whose answer was lost is made once, and the device gets its outcome', async () => {
    const written = await openWrittenLink(servers(), ORDERS, orderMapping());
    const device = await written.device('ada', ['north']);
    const orders = device.source(written.link.own('Order'));
    const depot = written.link.own('north');
    written.answersToLose = 2;
    const made = await orders.create({ title: 'Pump' });
    await written.shows(device, 'Order', { 1: { ...order('Pump'), depot } });
    written.answersToLose = 2;
    await orders.update(made.id, { state: 'done' });
    await written.shows(device, 'Order', { 1: { ...order('Pump', { state: 'done' }), depot } });
    written.answersToLose = 2;
    await orders.delete(made.id);
    await written.shows(device, 'Order', {});
    expect(device.problems.list()).toEqual([]);
    expect(written.answersToLose).toBe(0);
    expect(await written.rows('SELECT last_value::int AS last FROM orders_id_seq')).toEqual([{ last: 1 }]);
    expect(await written.rows('SELECT object_id FROM tidemark.operations')).toEqual(Array(3).fill({ object_id: '1' }));
  });

  it('[PG-242] a change that two servers make at once is made once, and both give the same answer', async () => {
    const written = await openWrittenLink(servers(), ORDERS, orderMapping());
    const { client, name, mapping, database } = written.link;
    const address = parseDatabaseUrl(database.url);
    const other = new RowBackend({ client, name, address, mapping, mappingFile: 'map.jsonc', clock: systemClock });
    onTestFinished(() => other.close());
    await client.users.create({ login: written.link.own('ada'), password: 'kelp-forest-9341' });
    const call: RowCall = {
      ...{ op: 'create', source: written.link.own('Order'), user_id: written.link.own('ada'), op_id: 'device:1' },
      ...{ group: written.link.own('north'), id: 'temporary', attributes: { title: 'Once' } },
    };
    const ids = await Promise.all([written.backend.write(call), other.write(call), other.write(call)]);
    expect(ids).toEqual([ids[0], ids[0], ids[0]]);
    expect(await written.rows('SELECT title FROM orders')).toEqual([{ title: 'Once' }]);
  });

  it('[PG-243] of two devices that change the same column, the later one gets a conflict, also when the stream has not brought the earlier change', async () => {
    const written = await openWrittenLink(
      servers(),
      [...ORDERS, `INSERT INTO orders (depot, title) VALUES ('@north', 'Pump'), ('@north', 'Valve')`],
      orderMapping({ conflicts: 'detect' }),
    );
    const [ada, bob] = [await written.device('ada', ['north']), await written.device('bob', ['north'])];
    const depot = written.link.own('north');
    await expect.poll(() => Object.keys(written.objects(bob, 'Order')), WAIT).toEqual(['1', '2']);
    bob.goOffline();
    await bob.source(written.link.own('Order')).update('1', { title: 'by Bob', state: 'done' });
    await ada.source(written.link.own('Order')).update('1', { title: 'by Ada' });
    await written.shows(ada, 'Order', { 1: { ...order('by Ada'), depot }, 2: { ...order('Valve'), depot } });
    // Tidemark refuses single columns, once the stream has brought the change. The database refuses an update as a whole.
    const partition = { source: written.link.own('Order'), group: depot };
    const title = async () => {
      const objects = await written.link.client.documents.read(partition, 'md');
      return (objects as Record<string, { readonly title: string }>)['1']?.title;
    };
    await expect.poll(title, WAIT).toBe('by Ada');
    bob.goOnline();
    await expect
      .poll(() => bob.problems.list().map(({ status, error }) => [status, error.code]), WAIT)
      .toEqual([['conflict', 'object_changed']]);
    // What nobody else has changed is made.
    await written.shows(bob, 'Order', {
      1: { ...order('by Ada', { state: 'done' }), depot },
      2: { ...order('Valve'), depot },
    });

    await written.link.stop();
    await written.link.sql(`UPDATE orders SET title = 'by SQL' WHERE id = 2`);
    await bob.source(written.link.own('Order')).update('2', { title: 'by Bob', state: 'done' });
    const problem = () => bob.problems.list().map(({ error }) => error.detail);
    await expect.poll(problem, WAIT).toContain('somebody else has changed it in the database meanwhile');
    expect(await written.rows('SELECT title, state FROM orders WHERE id = 2')).toEqual([
      { title: 'by SQL', state: 'new' },
    ]);
  });

  it('[PG-244] what constraints, triggers and policies refuse is undone on the device, with the reason', async () => {
    const role = `writer_${process.pid}_${Date.now()}`;
    const written = await openWrittenLink(
      servers(),
      [
        ...ORDERS,
        `INSERT INTO orders (depot, title) VALUES ('@north', 'Pump'), ('@north', 'locked'), ('@north', 'Valve')`,
        `INSERT INTO lines (order_id, ware) VALUES (1, 'seal')`,
        `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
          $$ BEGIN IF NEW.state = 'sunday' THEN RAISE EXCEPTION 'Orders are closed on Sundays'; END IF; RETURN NEW; END $$`,
        'CREATE TRIGGER refuse BEFORE UPDATE ON orders FOR EACH ROW EXECUTE FUNCTION refuse()',
        `CREATE ROLE ${role}`,
        `GRANT SELECT, INSERT, UPDATE, DELETE ON orders, lines TO ${role}`,
        'ALTER TABLE orders ENABLE ROW LEVEL SECURITY',
        'CREATE POLICY readable ON orders FOR SELECT USING (true)',
        `CREATE POLICY open ON orders FOR UPDATE USING (current_setting('tidemark.groups')::jsonb ? depot) WITH CHECK (title <> 'locked')`,
        'CREATE POLICY deletable ON orders FOR DELETE USING (true)',
      ],
      (own) => ({ ...orderMapping()(own), writing: { role } }),
    );
    onTestFinished(async () => void (await written.rows(`DROP OWNED BY ${role}; DROP ROLE ${role}`)));
    const device = await written.device('ada', ['north']);
    const orders = device.source(written.link.own('Order'));
    await expect.poll(() => orders.list().length, WAIT).toBe(3);
    const before = written.objects(device, 'Order');
    await orders.update('3', { price: '-1' });
    await orders.update('1', { state: 'sunday' });
    await orders.update('2', { state: 'done' });
    await orders.delete('1');
    await orders.create({ title: 'new' });
    const reasons = () =>
      device.problems
        .list()
        .map(({ status, error }) => [status, error.detail])
        .sort();
    await expect.poll(reasons, WAIT).toEqual(
      [
        ['rejected', 'Orders are closed on Sundays'],
        ['rejected', 'it breaks a rule of the database (rule orders_price_check)'],
        ['rejected', 'rows of "lines" still refer to it (rule lines_order_id_fkey)'],
        ['rejected', 'this user may not do that'],
        ['rejected', 'this user may not do that'],
      ].sort(),
    );
    await written.shows(device, 'Order', before);
  });

  it('[PG-245] a device may move a row to another group of its user, and to nobody else unless the mapping says so', async () => {
    const mapping = orderMapping({ writable: ['title', 'depot'] });
    const rows = `INSERT INTO orders (depot, title) VALUES ('@north', 'a'), ('@north', 'b')`;
    const written = await openWrittenLink(servers(), [...ORDERS, rows], mapping);
    const ada = await written.device('ada', ['north', 'west']);
    const bob = await written.device('bob', ['north']);
    const own = (name: string) => written.link.own(name);
    const orders = ada.source(own('Order'));
    await expect.poll(() => [orders.list().length, bob.source(own('Order')).list().length], WAIT).toEqual([2, 2]);
    await orders.update('1', { depot: own('south') });
    await expect
      .poll(() => ada.problems.list().map(({ error }) => error.detail), WAIT)
      .toEqual(['it would belong to somebody else']);
    await orders.update('1', { depot: own('west') });
    await written.shows(ada, 'Order', {
      1: { ...order('a'), depot: own('west') },
      2: { ...order('b'), depot: own('north') },
    });
    await written.shows(bob, 'Order', { 2: { ...order('b'), depot: own('north') } });
  });

  it('[PG-245] with handOver a device gives a row away, which leaves it when the stream brings the change', async () => {
    const mapping = orderMapping({ writable: ['depot'], devices: { handOver: true } });
    const rows = `INSERT INTO orders (depot, title) VALUES ('@north', 'a')`;
    const written = await openWrittenLink(servers(), [...ORDERS, rows], mapping);
    const ada = await written.device('ada', ['north']);
    const eve = await written.device('eve', ['south']);
    const [north, south] = [written.link.own('north'), written.link.own('south')];
    await written.shows(ada, 'Order', { 1: { ...order('a'), depot: north } });
    await ada.source(written.link.own('Order')).update('1', { depot: south });
    await written.shows(ada, 'Order', {});
    await written.shows(eve, 'Order', { 1: { ...order('a'), depot: south } });
    expect(ada.problems.list()).toEqual([]);
  });

  it('[PG-246] a refresh of a source that a connector feeds changes nothing, and is no failure', async () => {
    const wares = ['CREATE TABLE wares (id int PRIMARY KEY, name text)', `INSERT INTO wares VALUES (1, 'Anchor')`];
    const written = await openWrittenLink(servers(), wares, (own) => ({
      tables: { 'public.wares': { source: own('Ware'), owner: 'shared', writable: ['name'] } },
    }));
    const device = await written.device('ada');
    const source = written.link.own('Ware');
    const { client } = written.link;
    expect(await client.sources.get(source)).toMatchObject({ adapter: 'backend', read_only: false, poll_interval: -1 });
    await client.sources.refresh(source, written.link.own('ada'));
    await device.sync();
    await written.shows(device, 'Ware', { 1: { name: 'Anchor' } });
    const { checks } = await client.system.checkAppserver();
    expect(checks.find(({ name }) => name === `source ${source}`)).toMatchObject({ status: 'ok' });
  });

  it('[PG-247] an answer that comes late never undoes what the database has changed since', async () => {
    const rows = `INSERT INTO orders (depot, title) VALUES ('@north', 'a')`;
    const written = await openWrittenLink(servers(), [...ORDERS, rows], orderMapping());
    const device = await written.device('ada', ['north']);
    const depot = written.link.own('north');
    const source = written.link.own('Order');
    await written.shows(device, 'Order', { 1: { ...order('a'), depot } });
    written.beforeAnswer = async () => {
      await written.link.sql(`UPDATE orders SET title = 'by SQL' WHERE id = 1`);
      const title = async () => {
        const objects = await written.link.client.documents.read({ source, group: depot }, 'md');
        return (objects as Record<string, { title?: string }>)['1']?.title;
      };
      await expect.poll(title, WAIT).toBe('by SQL');
    };
    await device.source(source).update('1', { title: 'by Ada' });
    await written.shows(device, 'Order', { 1: { ...order('by SQL'), depot } });
  });

  it.each([
    ['is deleted', 'DELETE FROM orders', {}, {}],
    ['is given to others', `UPDATE orders SET depot = '@south'`, {}, { 1: 'a' }],
    ['changes again', `UPDATE orders SET title = 'b'`, { 1: 'b' }, {}],
  ])(
    '[PG-248] a row that %s before Tidemark has the answer about its creation ends where the database has it',
    async (_, change, north, south) => {
      const written = await openWrittenLink(servers(), ORDERS, orderMapping());
      const device = await written.device('ada', ['north']);
      const own = (name: string) => written.link.own(name);
      written.beforeAnswer = () => written.link.sql(change.replace('@south', own('south')));
      await device.source(own('Order')).create({ title: 'a' });
      const titles = async (group: string) => {
        const objects = await written.link.client.documents.read({ source: own('Order'), group: own(group) }, 'md');
        return Object.fromEntries(
          Object.entries(objects as Record<string, { title: string }>).map(([id, { title }]) => [id, title]),
        );
      };
      await expect.poll(() => device.uploads.list().length, WAIT).toBe(0);
      await expect.poll(async () => [await titles('north'), await titles('south')], WAIT).toEqual([north, south]);
      await expect
        .poll(async () => (await written.rows('SELECT FROM orders')).length, WAIT)
        .toBe(_ === 'is deleted' ? 0 : 1);
    },
  );
});
