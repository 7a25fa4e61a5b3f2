import { writeFileSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { TidemarkClient } from '@tidemark/backend';
import { ServerProcess, startPostgres, startValkey, temporaryFolder } from '@tidemark/testing/kit';
import { logIn } from '@tidemark/testing/server';
import { expect, it, onTestFinished } from 'vitest';

const WAIT = { timeout: 120_000, interval: 100 };
const SECRET = 'kelp_9341_only_here';

it('[PG-212] when the server that runs a connector is killed, another one goes on with it, and the password is in no output', async () => {
  const [postgres, valkey] = await Promise.all([startPostgres(), startValkey()]);
  onTestFinished(() => postgres.remove());
  onTestFinished(() => valkey.remove());
  await postgres.sql.unsafe(`
    CREATE ROLE tidemark LOGIN REPLICATION PASSWORD '${SECRET}';
    CREATE TABLE products (id int PRIMARY KEY, name text);
    GRANT SELECT ON products TO tidemark;
    INSERT INTO products VALUES (1, 'rope');
    CREATE PUBLICATION tidemark FOR ALL TABLES`);
  const address = `postgres://tidemark:${SECRET}@127.0.0.1:${postgres.port}/postgres`;
  const servers = [await startServer(valkey.address, address), await startServer(valkey.address, address)];
  const [first] = servers;
  if (first === undefined) throw new Error('there are two servers');
  const clients = await Promise.all(
    servers.map(async ({ url }) => new TidemarkClient({ url, token: await logIn(url) })),
  );
  const runner = async (client: TidemarkClient | undefined) => (await client?.connectors.get('field'))?.server ?? '';
  await expect.poll(() => runner(clients[0]), WAIT).toContain('process ');
  const pid = Number(/process (\d+)$/.exec(await runner(clients[0]))?.[1]);
  const index = servers.findIndex((server) => server.pid === pid);
  const other = clients[1 - index];
  await servers[index]?.kill();
  await postgres.sql.unsafe(`INSERT INTO products VALUES (2, 'hook')`);
  const products = () => other?.documents.read({ source: 'Product', shared: true }, 'md').catch(() => null);
  await expect.poll(products, WAIT).toEqual({ 1: { name: 'rope' }, 2: { name: 'hook' } });
  await expect.poll(() => runner(other), WAIT).toContain(`process ${servers[1 - index]?.pid}`);
  await postgres.sql.unsafe(
    `ALTER ROLE tidemark PASSWORD 'changed'; SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'tidemark'`,
  );
  await expect.poll(async () => (await other?.connectors.get('field'))?.error?.message, WAIT).toContain('password');
  const said = [
    ...servers.map(({ stderr, lines }) => stderr + lines.join('\n')),
    await processList(),
    JSON.stringify([await other?.connectors.list(), await other?.system.settings(), await other?.audit.list()]),
    await (await fetch(`${servers[1 - index]?.url}/readyz`)).text(),
  ];
  expect(said.join()).toContain('connector_waits');
  expect(said.join()).not.toContain(SECRET);
});

async function startServer(store: string, address: string): Promise<ServerProcess> {
  const folder = await temporaryFolder();
  const mapping = {
    ...{ publication: 'tidemark', slot: 'tidemark' },
    tables: { 'public.products': { source: 'Product', owner: 'shared' } },
  };
  writeFileSync(join(folder.path, 'tidemark-postgres.jsonc'), JSON.stringify(mapping));
  writeFileSync(join(folder.path, 'url'), address, { mode: 0o600 });
  const connectors = [{ name: 'field', kind: 'postgres', url_file: 'url' }];
  writeFileSync(join(folder.path, 'tidemark.config.json'), JSON.stringify({ connectors }));
  const env = { TIDEMARK_LOG_LEVEL: 'debug' };
  const server = new ServerProcess({ folder: folder.path, address: store, env }, folder.remove);
  onTestFinished(async () => void (await server.stop()));
  return server.start();
}

/** The arguments of all processes of this machine. */
async function processList(): Promise<string> {
  const ids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(ids.map((id) => readFile(`/proc/${id}/cmdline`, 'utf8').catch(() => '')));
  return lines.join('\n');
}
