import { Conflict, Rejected } from '@tidemark/backend';
import { type PostgresServer, startPostgres, TcpProxy } from '@tidemark/testing/kit';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import { openSql } from '../sql/open-sql.ts';
import { parseDatabaseUrl } from '../sql/parse-url.ts';
import { OPERATIONS_SQL } from './operations.ts';
import { type RowCall, RowWriter } from './row-writer.ts';
import type { WrittenTable } from './written-table.ts';

const WAIT = { timeout: 120_000, interval: 30 };

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres();
});
afterAll(() => server.remove());

const WRITABLE = { inUpdate: true, inCreate: true };

const NOTES: WrittenTable = {
  ...{ schema: 'public', name: 'notes', label: 'public.notes', source: 'Note' },
  ...{ mayCreate: true, mayDelete: true, mayHandOver: false },
  key: [{ name: 'id', typeName: 'bigint', leaf: { typeId: 20, isList: false }, hasDefault: true }],
  columns: [{ name: 'body', attribute: 'body', typeName: 'text', leaf: { typeId: 25, isList: false }, ...WRITABLE }],
  owner: { kind: 'shared' },
};
const CREATE: RowCall = {
  ...{ op: 'create', source: 'Note', user_id: 'ada', op_id: 'device:1', id: 'temporary' },
  attributes: { body: 'once' },
};

/** A writer that reaches the database through a proxy. */
async function openScene() {
  const { url, sql } = await server.createDatabase();
  await sql.unsafe('CREATE TABLE notes (id bigserial PRIMARY KEY, body text)');
  for (const statement of OPERATIONS_SQL) await sql.unsafe(statement);
  const proxy = await TcpProxy.open(server.port);
  const own = openSql({ ...parseDatabaseUrl(url), port: proxy.port }, { connections: 1 });
  onTestFinished(async () => {
    await own.end();
    await proxy.close();
  });
  // The connection that is stalled has to be there.
  await own`SELECT 1`;
  const writer = new RowWriter({ sql: own, connector: 'field', tables: [NOTES] });
  const notes = async () => (await sql<{ body: string }>`SELECT body FROM notes`).map(({ body }) => body);
  return { sql, proxy, writer, notes };
}

const verdict = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: unknown) => (error instanceof Rejected || error instanceof Conflict ? 'refused' : 'later'),
  );

const isCommand = (bytes: Buffer) => bytes[0] === 'Q'.charCodeAt(0) && bytes.includes('COMMIT');
const isAnswer = (bytes: Buffer) => bytes[0] === 'C'.charCodeAt(0) && bytes.includes('COMMIT');

it.each([
  ['before the database has committed', isCommand, []],
  ['between the commit and its answer', isAnswer, ['once']],
])(
  '[PG-256] a change whose connection is cut %s is left for later, and made once when it is repeated',
  async (_, isCut, kept) => {
    const { proxy, writer, notes } = await openScene();
    proxy.stall(() => true, isCut);
    const first = verdict(writer.write(CREATE));
    await expect.poll(() => proxy.heldChunks, WAIT).toBe(1);
    proxy.cut();
    expect(await first).toBe('later');
    expect(await notes()).toEqual(kept);
    proxy.restore();
    const id = await writer.write(CREATE);
    expect(await writer.write(CREATE)).toBe(id);
    expect(await notes()).toEqual(['once']);
  },
);

it('[PG-257] a change that cannot be noted among the operations is not made, and left for later', async () => {
  const { sql, writer, notes } = await openScene();
  await sql.unsafe(`CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '23514'; END $$;
    CREATE TRIGGER refuse BEFORE UPDATE ON tidemark.operations FOR EACH ROW EXECUTE FUNCTION refuse()`);
  expect(await verdict(writer.write(CREATE))).toBe('later');
  expect(await notes()).toEqual([]);
  await sql.unsafe('DROP TRIGGER refuse ON tidemark.operations');
  expect(await writer.write(CREATE)).toMatch(/^\d+$/);
  expect(await notes()).toEqual(['once']);
});
