import { Conflict, Rejected } from '@tidemark/backend';
import { type PostgresDatabase, type PostgresServer, startPostgres } from '@tidemark/testing/kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { openSql } from '../sql/open-sql.ts';
import { parseDatabaseUrl } from '../sql/parse-url.ts';
import { forgetOperations, OPERATIONS_SQL } from './operations.ts';
import { type RowCall, RowWriter, type RowWriterOptions } from './row-writer.ts';
import type { WrittenTable } from './written-table.ts';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

const ALL = { mayCreate: true, mayDelete: true, mayHandOver: false };
const WRITABLE = { inUpdate: true, inCreate: true };

/** A type as statements name it, with what its values are made of as far as that matters here. */
function typed(typeName: string) {
  const leaves: Readonly<Record<string, number>> = { bytea: 17, jsonb: 3802 };
  return { typeName, leaf: { typeId: leaves[typeName] ?? 25, isList: typeName.endsWith('[]') } };
}

const ORDERS: WrittenTable = {
  ...ALL,
  ...{ schema: 'public', name: 'orders', label: 'public.orders', source: 'Order' },
  key: [{ name: 'id', ...typed('bigint'), hasDefault: true }],
  columns: [
    { name: 'title', attribute: 'title', ...typed('text'), ...WRITABLE },
    { name: 'number', attribute: 'no', ...typed('integer'), ...WRITABLE },
    { name: 'price', attribute: 'price', ...typed('numeric(10,2)'), ...WRITABLE },
    { name: 'due_at', attribute: 'due', ...typed('timestamp with time zone'), ...WRITABLE },
    { name: 'tags', attribute: 'tags', ...typed('text[]'), ...WRITABLE },
    { name: 'photo', attribute: 'photo', ...typed('bytea'), ...WRITABLE },
    { name: 'more', attribute: 'more', ...typed('jsonb'), ...WRITABLE },
    { name: 'depot', attribute: 'depot', ...typed('text'), ...WRITABLE },
  ],
  owner: { kind: 'group', column: { name: 'depot', ...typed('text') } },
};

const LINES: WrittenTable = {
  ...ALL,
  ...{ schema: 'public', name: 'order_lines', label: 'public.order_lines', source: 'Line' },
  key: [
    { name: 'order_id', ...typed('bigint'), hasDefault: false },
    { name: 'line', ...typed('text'), hasDefault: false },
  ],
  columns: [
    { name: 'order_id', attribute: 'order', ...typed('bigint'), ...WRITABLE },
    { name: 'line', attribute: 'line', ...typed('text'), ...WRITABLE },
    { name: 'quantity', attribute: 'quantity', ...typed('integer'), ...WRITABLE },
  ],
  owner: {
    kind: 'through',
    columns: ['order_id'],
    parent: {
      schema: 'public',
      name: 'orders',
      key: ['id'],
      ownerKind: 'group',
      ownerColumn: { name: 'depot', ...typed('text') },
    },
  },
};

const NOTES: WrittenTable = {
  ...ALL,
  ...{ schema: 'public', name: 'notes', label: 'public.notes', source: 'Note' },
  key: [{ name: 'id', ...typed('uuid'), hasDefault: false }],
  columns: [{ name: 'body', attribute: 'body', ...typed('text'), ...WRITABLE }],
  owner: { kind: 'user', column: { name: 'author', ...typed('text') } },
};

const SCHEMA = `
  CREATE TABLE orders (
    id bigserial PRIMARY KEY, title text NOT NULL, number int UNIQUE, price numeric(10,2) CHECK (price >= 0),
    due_at timestamptz, tags text[], photo bytea, more jsonb, depot text NOT NULL, state text NOT NULL DEFAULT 'new'
  );
  CREATE TABLE order_lines (
    order_id bigint REFERENCES orders, line text, quantity int, PRIMARY KEY (order_id, line)
  );
  CREATE TABLE notes (id uuid PRIMARY KEY, body text, author text);
`;

interface Scene {
  readonly sql: PostgresDatabase['sql'];
  write(call: Partial<RowCall>): Promise<string>;
}

async function scene(options: Partial<RowWriterOptions> = {}): Promise<Scene> {
  const { url, sql } = await server.createDatabase();
  await sql.unsafe(SCHEMA);
  for (const statement of OPERATIONS_SQL) await sql.unsafe(statement);
  const own = openSql(parseDatabaseUrl(url));
  onTestFinished(() => own.end());
  const writer = new RowWriter({ sql: own, connector: 'field', tables: [ORDERS, LINES, NOTES], ...options });
  let count = 0;
  return {
    sql,
    write: (call) => {
      const whole = {
        source: 'Order',
        user_id: 'ada',
        group: 'north',
        op_id: `op-${count++}`,
        id: 'temporary',
        ...call,
      };
      return writer.write({ attributes: {}, removed: [], ...whole } as RowCall);
    },
  };
}

const refusal = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => [
      error instanceof Rejected ? 'rejected' : error instanceof Conflict ? 'conflict' : 'later',
      String((error as Error).message),
    ],
  );

describe('row writer', () => {
  it('[PG-141] a change of a device becomes one statement with the values in the types of the columns, and the id is the key that the database chose', async () => {
    const { sql, write } = await scene();
    const attributes = {
      ...{ title: "It's a pump", no: 7, price: '12.30', due: '2026-11-18T07:00:00.000Z', tags: ['a', null, 'c,"d'] },
      ...{ photo: Buffer.from('photo').toString('base64'), more: { deep: [1, { x: null }] } },
    };
    const id = await write({ op: 'create', attributes });
    expect(id).toBe('1');
    await write({ op: 'update', id, attributes: { title: 'Pump', tags: [] }, removed: ['price'] });
    const rows = await sql`SELECT id::text, title, number, price, due_at::text, array_to_json(tags)::text AS tags,
      convert_from(photo, 'utf8') AS photo, more::text, depot, state FROM orders`;
    expect([...rows]).toEqual([
      {
        ...{ id: '1', title: 'Pump', number: 7, price: null, due_at: '2026-11-18 07:00:00+00', tags: '[]' },
        ...{ photo: 'photo', more: '{"deep": [1, {"x": null}]}', depot: 'north', state: 'new' },
      },
    ]);
    await write({ op: 'delete', id });
    expect([...(await sql`SELECT id FROM orders`)]).toEqual([]);
  });

  it('[PG-142] a change that is repeated changes nothing, and gets the same id', async () => {
    const { sql, write } = await scene();
    const create = { op: 'create', op_id: 'device:1', attributes: { title: 'Once' } } as const;
    const ids = await Promise.all([write(create), write(create), write(create)]);
    expect([...ids, await write(create)]).toEqual(Array(4).fill(ids[0]));
    await write({ op: 'delete', op_id: 'device:2', id: ids[0] ?? '' });
    expect(await write({ op: 'delete', op_id: 'device:2', id: ids[0] ?? '' })).toBe(ids[0]);
    expect([...(await sql`SELECT count(*)::int AS rows FROM orders`)]).toEqual([{ rows: 0 }]);
    await sql`UPDATE tidemark.operations SET at = now() - interval '31 days' WHERE op_id = 'device:1'`;
    await forgetOperations(sql);
    expect([...(await sql`SELECT op_id, object_id FROM tidemark.operations`)]).toEqual([
      { op_id: 'device:2', object_id: ids[0] },
    ]);
  });

  it.each([
    [{ attributes: {} }, '"title" needs a value'],
    [{ attributes: { title: 'a', no: 1 } }, 'another object has the same value (rule orders_number_key)'],
    [{ attributes: { title: 'a', price: -1 } }, 'it breaks a rule of the database (rule orders_price_check)'],
    [{ attributes: { title: 'a', state: 'done' } }, '"state" cannot be changed on devices'],
    [{ attributes: { title: 'a', depot: 'south' } }, 'it would belong to somebody else'],
    [
      { source: 'Line', attributes: { order: 99, line: '1' } },
      'it refers to something that does not exist (rule order_lines_order_id_fkey)',
    ],
    [
      { attributes: { title: 'a', no: 'seven' } },
      'the database refuses it: invalid input syntax for type integer: "seven"',
    ],
    [{ attributes: { title: 'a', photo: 'no base64!' } }, 'bytes must be sent as base64'],
    [{ source: 'Unknown', attributes: {} }, 'objects of "Unknown" cannot be changed on devices'],
  ] as const)(
    '[PG-143] a change that the database refuses is rejected with the reason, and nothing is changed: %j',
    async (call, reason) => {
      const { sql, write } = await scene();
      await sql`INSERT INTO orders (title, number, depot) VALUES ('there', 1, 'north')`;
      expect(await refusal(write({ op: 'create', ...call }))).toEqual(['rejected', reason]);
      expect([...(await sql`SELECT title FROM orders`)]).toEqual([{ title: 'there' }]);
      expect([...(await sql`SELECT op_id FROM tidemark.operations`)]).toEqual([]);
    },
  );

  it('[PG-143] the deletion of a row to which others refer is rejected with the name of their table', async () => {
    const { sql, write } = await scene();
    const id = await write({ op: 'create', attributes: { title: 'a' } });
    await write({ op: 'create', source: 'Line', attributes: { order: id, line: '1' } });
    expect(await refusal(write({ op: 'delete', id }))).toEqual([
      'rejected',
      'rows of "order_lines" still refer to it (rule order_lines_order_id_fkey)',
    ]);
    expect([...(await sql`SELECT title FROM orders`)]).toEqual([{ title: 'a' }]);
  });

  it('[PG-143] a change that a trigger refuses is rejected with the text of the trigger', async () => {
    const { sql, write } = await scene();
    await sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'Orders are closed on Sundays'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION refuse()`);
    const work = write({ op: 'create', attributes: { title: 'a' } });
    expect(await refusal(work)).toEqual(['rejected', 'Orders are closed on Sundays']);
  });

  it.each(['TM001', 'check_violation', 'insufficient_privilege', 'no_data_found', 'undefined_column'])(
    '[PG-143] a change that a trigger refuses with the code %s is rejected with the text of the trigger, too',
    async (code) => {
      const { sql, write } = await scene();
      await sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'Orders are closed on Sundays' USING ERRCODE = '${code}'; END $$;
        CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION refuse()`);
      const work = write({ op: 'create', attributes: { title: 'a' } });
      expect(await refusal(work)).toEqual(['rejected', 'Orders are closed on Sundays']);
    },
  );

  it('[PG-147] a change that a trigger refuses because it met another one is left for later', async () => {
    const { sql, write } = await scene();
    await sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'busy' USING ERRCODE = 'serialization_failure'; END $$;
      CREATE TRIGGER refuse BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION refuse()`);
    expect(await refusal(write({ op: 'create', attributes: { title: 'a' } }))).toEqual(['later', 'busy']);
  });

  it('[PG-143] what a constraint refuses only at the commit is rejected with the reason, and nothing is noted', async () => {
    const { sql, write } = await scene();
    await sql.unsafe(
      'ALTER TABLE order_lines ALTER CONSTRAINT order_lines_order_id_fkey DEFERRABLE INITIALLY DEFERRED',
    );
    const id = await write({ op: 'create', attributes: { title: 'a' } });
    await write({ op: 'create', source: 'Line', attributes: { order: id, line: '1' } });
    expect(await refusal(write({ op: 'delete', id, op_id: 'late' }))).toEqual([
      'rejected',
      'rows of "order_lines" still refer to it (rule order_lines_order_id_fkey)',
    ]);
    expect([...(await sql`SELECT title FROM orders`)]).toEqual([{ title: 'a' }]);
    expect([...(await sql`SELECT op_id FROM tidemark.operations WHERE op_id = 'late'`)]).toEqual([]);
  });

  it('[PG-143] a row that a trigger leaves out is rejected, new or changed', async () => {
    const { sql, write } = await scene();
    const id = await write({ op: 'create', attributes: { title: 'a' } });
    await sql.unsafe(`CREATE FUNCTION skip() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
      CREATE TRIGGER skip BEFORE INSERT OR UPDATE OR DELETE ON orders FOR EACH ROW EXECUTE FUNCTION skip()`);
    const reasons = await Promise.all([
      refusal(write({ op: 'create', attributes: { title: 'b' } })),
      refusal(write({ op: 'update', id, attributes: { title: 'b' } })),
      refusal(write({ op: 'delete', id })),
    ]);
    expect(reasons).toEqual([
      ['rejected', 'the database did not keep it'],
      ['rejected', 'it is not there any more, or this user may not change it'],
      ['rejected', 'this user may not delete it'],
    ]);
  });

  it('[PG-144] a device reaches only rows of its own user or group, also through a parent', async () => {
    const { sql, write } = await scene();
    const theirs = await write({ op: 'create', group: 'south', attributes: { title: 'theirs' } });
    await write({ op: 'create', source: 'Line', group: 'south', attributes: { order: theirs, line: 'a/b' } });
    const note = await write({ op: 'create', source: 'Note', user_id: 'bob', attributes: { body: 'private' } });
    const line = { source: 'Line', id: `${theirs}/a~1b` } as const;
    const gone = ['rejected', 'it is not there any more, or this user may not change it'];
    expect(await refusal(write({ op: 'update', id: theirs, attributes: { title: 'mine' } }))).toEqual(gone);
    expect(await refusal(write({ op: 'update', ...line, attributes: { quantity: 5 } }))).toEqual(gone);
    expect(await refusal(write({ op: 'update', source: 'Note', id: note, attributes: { body: 'mine' } }))).toEqual(
      gone,
    );
    const into = write({ op: 'create', source: 'Line', attributes: { order: theirs, line: '2' } });
    expect(await refusal(into)).toEqual(['rejected', 'it would belong to somebody else']);
    await write({ op: 'delete', id: theirs });
    await write({ op: 'delete', ...line });
    // Other ways to write the same key, and a user without a group, reach nothing.
    await write({ op: 'delete', id: `0${theirs}`, group: 'south' });
    for (const id of [`${line.id}/more`, `${theirs}/a~1~b`, theirs]) {
      const other = write({ op: 'delete', ...line, id, group: 'south' });
      expect(await refusal(other)).toEqual(['rejected', 'there is no such object']);
    }
    await sql.unsafe(`INSERT INTO orders (id, title, depot) VALUES (77, 'nobody', '')`);
    expect(await refusal(write({ op: 'update', id: '77', group: '', attributes: { title: 'x' } }))).toEqual(gone);
    await write({ op: 'update', ...line, group: 'south', attributes: { quantity: 6 } });
    expect([...(await sql`SELECT title, line, quantity FROM orders JOIN order_lines ON id = order_id`)]).toEqual([
      { title: 'theirs', line: 'a/b', quantity: 6 },
    ]);
  });

  it('[PG-145] an update is a conflict when a column no longer has the value that the device saw', async () => {
    const { sql, write } = await scene();
    const id = await write({ op: 'create', attributes: { title: 'a', price: '1.50', tags: ['x'] } });
    const change = { op: 'update', id, attributes: { price: '2' }, seen: { price: '1.50' } } as const;
    await sql`UPDATE orders SET price = 1.75`;
    const conflict = ['conflict', 'somebody else has changed it in the database meanwhile'];
    expect(await refusal(write(change))).toEqual(conflict);
    expect(await write({ ...change, seen: { price: '1.750' } })).toBe(id);
    expect(await refusal(write({ ...change, attributes: { tags: null }, seen: { tags: ['y'] } }))).toEqual(conflict);
    expect([...(await sql`SELECT price, tags[1] AS tag FROM orders`)]).toEqual([{ price: '2.00', tag: 'x' }]);
  });

  it('[PG-146] a change is made in the role of the mapping, and policies see the user and the groups', async () => {
    const role = `writer_${Date.now()}`;
    const { sql, write } = await scene({ role, groupsOf: async (user) => (user === 'ada' ? ['north', 'west'] : []) });
    await sql.unsafe(`CREATE ROLE ${role}; GRANT SELECT, INSERT, UPDATE, DELETE ON orders TO ${role};
      GRANT USAGE ON SEQUENCE orders_id_seq TO ${role}; ALTER TABLE orders ENABLE ROW LEVEL SECURITY;
      CREATE POLICY readable ON orders FOR SELECT USING (true);
      CREATE POLICY of_groups ON orders FOR INSERT
        WITH CHECK (current_setting('tidemark.groups')::jsonb ? depot AND title <> 'forbidden');
      CREATE POLICY of_user ON orders FOR UPDATE USING (current_setting('tidemark.user') = 'ada')`);
    onTestFinished(async () => void (await sql.unsafe(`DROP OWNED BY ${role}; DROP ROLE ${role}`)));
    const id = await write({ op: 'create', attributes: { title: 'a' } });
    const may = ['rejected', 'this user may not do that'];
    expect(await refusal(write({ op: 'create', attributes: { title: 'forbidden' } }))).toEqual(may);
    expect(await refusal(write({ op: 'create', user_id: 'eve', attributes: { title: 'b' } }))).toEqual(may);
    expect(await refusal(write({ op: 'create', source: 'Note', attributes: { body: 'c' } }))).toEqual(may);
    expect(await refusal(write({ op: 'update', id, user_id: 'eve', attributes: { title: 'd' } }))).toEqual([
      'rejected',
      'it is not there any more, or this user may not change it',
    ]);
    expect(await refusal(write({ op: 'delete', id }))).toEqual(['rejected', 'this user may not delete it']);
    await write({ op: 'update', id, attributes: { title: 'e' } });
    expect([...(await sql`SELECT title FROM orders`)]).toEqual([{ title: 'e' }]);
    expect([...(await sql`SELECT count(*)::int AS done FROM tidemark.operations`)]).toEqual([{ done: 2 }]);
  });

  it('[PG-147] a change is tried again when it met another transaction', async () => {
    const { sql, write } = await scene();
    await sql.unsafe(`CREATE SEQUENCE attempts; CREATE FUNCTION meet() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN IF nextval('attempts') < 3 THEN RAISE EXCEPTION 'met' USING ERRCODE = '40001'; END IF; RETURN NEW; END $$;
      CREATE TRIGGER meet BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION meet()`);
    expect(await write({ op: 'create', attributes: { title: 'a' } })).not.toBe('');
    expect([...(await sql`SELECT title FROM orders`)]).toEqual([{ title: 'a' }]);
  });

  it('[PG-147] a change is left for later, not rejected, when the connection is lost or the set-up is wrong', async () => {
    const { sql, write } = await scene();
    await sql.unsafe(`CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NEW; END $$;
      CREATE TRIGGER lose BEFORE INSERT ON orders FOR EACH ROW EXECUTE FUNCTION lose()`);
    const create = { op: 'create', op_id: 'device:1', attributes: { title: 'a' } } as const;
    expect((await refusal(write(create)))[0]).toBe('later');
    await sql.unsafe('DROP TRIGGER lose ON orders; ALTER TABLE orders RENAME COLUMN title TO name');
    expect((await refusal(write(create)))[0]).toBe('later');
    await sql.unsafe('ALTER TABLE orders RENAME COLUMN name TO title');
    expect(await refusal(write(create))).toMatch(/^\d+$|^done$/);
    expect([...(await sql`SELECT title FROM orders`)]).toEqual([{ title: 'a' }]);
  });

  it('[PG-148] a change can be made by a function instead of the statements, in the same transaction', async () => {
    const { sql, write } = await scene({
      hooks: {
        'public.orders': async (own, call) => {
          if (call.op !== 'create') throw new Rejected('orders are only created');
          const [row] =
            await own`INSERT INTO orders (title, depot) VALUES (${`by ${call.user_id}`}, ${call.group ?? ''})
            RETURNING id::text`;
          return String(row?.id);
        },
      },
    });
    const create = { op: 'create', op_id: 'device:1', attributes: {} } as const;
    expect([await write(create), await write(create)]).toEqual(['1', '1']);
    expect(await refusal(write({ op: 'delete', id: '1' }))).toEqual(['rejected', 'orders are only created']);
    expect([...(await sql`SELECT title, depot FROM orders`)]).toEqual([{ title: 'by ada', depot: 'north' }]);
  });

  it('[PG-148] a function that returns no id makes nothing, and the error says which and what was expected', async () => {
    const { sql, write } = await scene({
      hooks: {
        'public.orders': async (own) => {
          const [row] = await own`INSERT INTO orders (title, depot) VALUES ('a', 'north') RETURNING id::int`;
          return row?.id as string;
        },
      },
    });
    expect(await refusal(write({ op: 'create' }))).toEqual([
      'later',
      'hooks["public.orders"]: expected the id of the object as a text, got number',
    ]);
    expect([...(await sql`SELECT id FROM orders`)]).toEqual([]);
  });

  it('[PG-149] a new row gets the id of the device as its key where the database chooses none', async () => {
    const { write } = await scene();
    const id = '5f0c8a7e-0000-4000-8000-00000000000a';
    expect(await write({ op: 'create', source: 'Note', id, attributes: { body: 'a' } })).toBe(id);
    const made = await write({ op: 'create', source: 'Note', id: 'no uuid', attributes: { body: 'b' } });
    expect(made).toMatch(/^[0-9a-f-]{36}$/);
  });
});
