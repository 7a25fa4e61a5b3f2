import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startPostgres, temporaryFolder } from '@tidemark/testing/kit';
import { runInProcess } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

it('[PG-355] doctor says what the databases of all connectors in the configuration lack, with the SQL that mends it, and fails where it stops a connector', async () => {
  const [postgres, folder] = await Promise.all([startPostgres(), temporaryFolder()]);
  onTestFinished(async () => {
    await postgres.remove();
    await folder.remove();
  });
  await postgres.sql`CREATE TABLE orders (id int PRIMARY KEY, state text)`;
  const table = { source: 'Order', owner: 'shared' };
  writeFileSync(join(folder.path, 'map.jsonc'), JSON.stringify({ tables: { 'public.orders': table } }));
  const lost = { slot: 'lost', tables: { 'public.orders': { ...table, source: 'Lost' } } };
  writeFileSync(join(folder.path, 'lost.jsonc'), JSON.stringify(lost));
  const connectors = [
    { name: 'field', kind: 'postgres', mapping: 'map.jsonc' },
    { name: 'lost', kind: 'postgres', mapping: 'lost.jsonc', url_env: 'LOST_URL' },
  ];
  writeFileSync(join(folder.path, 'tidemark.config.json'), JSON.stringify({ connectors }));
  const env = {
    ...{ HOME: folder.path, TIDEMARK_URL: 'http://127.0.0.1:1' },
    ...{ TIDEMARK_POSTGRES_URL: postgres.url, LOST_URL: 'postgres://tidemark:hunter2@127.0.0.1:1/field' },
  };
  const examine = async () => {
    const { code, out } = await runInProcess(['doctor', '--json'], { env, folder: folder.path });
    const checks = JSON.parse(out) as { name: string; status: string; detail: string }[];
    return { code, out, found: checks.filter(({ name }) => name.startsWith('connector')) };
  };
  const { code, out, found } = await examine();
  expect(code).toBe(1);
  expect(found).toContainEqual({
    ...{ name: 'connector field', status: 'failed' },
    detail:
      'there is no publication "tidemark", which says whose changes are sent; run CREATE PUBLICATION "tidemark" FOR TABLE "public"."orders"',
  });
  expect(found).toContainEqual({
    ...{ name: 'connector lost', status: 'failed' },
    detail: expect.stringContaining('the database cannot be read: '),
  });
  expect(out).not.toContain('hunter2');
  await postgres.sql.unsafe('CREATE PUBLICATION tidemark FOR TABLE orders');
  const failed = (await examine()).found.filter(({ status }) => status === 'failed').map(({ name }) => name);
  expect(failed).toEqual(['connector lost']);
});
