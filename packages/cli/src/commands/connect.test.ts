import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres, temporaryFolder } from '@tidemark/testing/kit';
import { runInProcess } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

async function open() {
  const folder = await temporaryFolder();
  onTestFinished(() => folder.remove());
  const run = (env: Readonly<Record<string, string>>, ...args: readonly string[]) =>
    runInProcess(['connect', 'postgres', ...args], { env, folder: folder.path });
  return { folder: folder.path, run };
}

it('[PG-51] connect postgres writes a mapping, refuses it undecided, and checks the database with the SQL that mends it', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  await server.sql`CREATE TABLE orders (id int PRIMARY KEY, state text)`;
  const { folder, run } = await open();
  const env = { TIDEMARK_POSTGRES_URL: server.url };
  expect(await run(env, '--init', '--mapping', 'map.jsonc')).toEqual({
    code: 0,
    out: '',
    err: 'Wrote map.jsonc. Decide about every "owner" in it, then run: tidemark connect postgres --check --mapping map.jsonc\n',
  });
  expect((await run(env, '--init', '--mapping', 'map.jsonc')).err).toContain('tidemark: map.jsonc exists already\n');
  const undecided = await run(env, '--check', '--mapping', 'map.jsonc');
  expect([undecided.code, undecided.err]).toEqual([
    78,
    expect.stringContaining('tables["public.orders"].owner: decide whose data the rows are'),
  ]);

  const file = join(folder, 'map.jsonc');
  writeFileSync(file, readFileSync(file, 'utf8').replace('"choose"', '"shared"'));
  const secret = join(folder, 'address');
  writeFileSync(secret, `${server.url}\n`, { mode: 0o600 });
  const fromFile = { TIDEMARK_POSTGRES_URL_FILE: 'address' };
  const missing = await run(fromFile, '--check', '--mapping', 'map.jsonc');
  expect([missing.code, missing.err]).toEqual([
    1,
    'tidemark: the database cannot be connected yet: 1 things are missing\n',
  ]);
  expect(missing.out).toContain(
    'error    there is no publication "tidemark", which says whose changes are sent\n    CREATE PUBLICATION "tidemark" FOR TABLE "public"."orders";\n',
  );
  await server.sql.unsafe('CREATE PUBLICATION tidemark FOR TABLE orders');
  const json = await run(fromFile, '--check', '--mapping', 'map.jsonc', '--json');
  expect([json.code, JSON.parse(json.out).map(({ code }: { readonly code: string }) => code)]).toEqual([
    0,
    ['superuser', 'wal_keep_size'],
  ]);
  chmodSync(secret, 0o644);
  expect((await run(fromFile, '--check', '--mapping', 'map.jsonc')).err).toContain(
    'TIDEMARK_POSTGRES_URL_FILE: address can be read or changed by everybody',
  );
});

it('[PG-52] connect postgres never prints the password of the database', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  const { run } = await open();
  const wrong = server.url.replace(/:[^:@]+@/, ':hunter2@');
  const outcomes = await Promise.all([
    run({ TIDEMARK_POSTGRES_URL: wrong }, '--init'),
    run({ TIDEMARK_POSTGRES_URL: 'postgres://u:hunter2@127.0.0.1:1/d' }, '--init'),
    run({ TIDEMARK_POSTGRES_URL: 'postgres://u:hunter2@h/d?x=1' }, '--init'),
    run({ OTHER: wrong }, '--check', '--url-env', 'OTHER'),
    run({}, '--check'),
    run({ OTHER: wrong }),
  ]);
  expect(outcomes.map(({ code }) => code)).toEqual([77, 69, 78, 2, 2, 2]);
  expect(JSON.stringify(outcomes)).not.toContain('hunter2');
});

it('[PG-370] schema infer makes a schema from the columns of a database, without a server', async () => {
  const server = await startPostgres();
  onTestFinished(() => server.remove());
  await server.sql`CREATE TABLE orders (id int PRIMARY KEY, state text NOT NULL, total float8)`;
  const { folder } = await open();
  writeFileSync(join(folder, 'map.jsonc'), '{"tables": {"public.orders": {"source": "Order", "owner": "shared"}}}');
  const env = { DATABASE: server.url };
  const infer = (...args: readonly string[]) =>
    runInProcess(['schema', 'infer', ...args, '--postgres', 'map.jsonc', '--url-env', 'DATABASE'], { env, folder });
  const schema = {
    properties: { state: { type: 'string' }, total: { type: ['number', 'null'] } },
    required: ['state'],
  };
  expect(await infer('Order')).toEqual({
    ...{ code: 0, out: `${JSON.stringify(schema, null, 2)}\n`, err: 'Made from the columns of public.orders.\n' },
  });
  const json = await infer('Order', '--json');
  expect(JSON.parse(json.out)).toEqual({ source: 'Order', table: 'public.orders', schema });
  expect((await infer('Task')).err).toContain('no table in map.jsonc becomes the source Task');
  expect((await infer('Order', '--samples', '-')).err).toContain('say either --samples or --postgres');
  writeFileSync(join(folder, 'map.jsonc'), '{"tables": {"public.gone": {"source": "Order", "owner": "shared"}}}');
  const wrong = await infer('Order');
  expect([wrong.code, wrong.err]).toEqual([78, expect.stringContaining('map.jsonc is not a valid mapping')]);
});
