import { TidemarkClient } from '@tidemark/backend';
import { openDevice } from '@tidemark/client';
import { parseDatabaseUrl } from '@tidemark/postgres';
import { startPostgres } from '@tidemark/testing/kit';
import { startTestServer, type TestServer } from '@tidemark/testing/server';
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest';
import type { ConnectorConfig } from '../config/read-connectors.ts';

type Postgres = Awaited<ReturnType<typeof startPostgres>>;

const WAIT = { timeout: 120_000, interval: 50 };

let postgres: Postgres;

beforeAll(async () => {
  postgres = await startPostgres();
});
afterAll(() => postgres.remove());

/** A database with one table, and a connector for it. */
async function makeDatabase(source: string) {
  const database = await postgres.createDatabase();
  await database.sql.unsafe(`
    CREATE TABLE products (id int PRIMARY KEY, name text);
    INSERT INTO products VALUES (1, 'rope');
    CREATE PUBLICATION tidemark FOR ALL TABLES`);
  const mapping = {
    ...{ publication: 'tidemark', slot: `slot_${source.toLowerCase()}`, members: {}, users: {} },
    tables: { 'public.products': { source, owner: 'shared' } },
  } as const;
  const address = parseDatabaseUrl(database.url);
  const config: ConnectorConfig = { name: 'field', kind: 'postgres', address, mapping, mappingFile: 'mapping.jsonc' };
  return { database, config };
}

async function startServer(connectors: readonly ConnectorConfig[]): Promise<TestServer> {
  const server = await startTestServer({ connectors });
  onTestFinished(() => server.close());
  return server;
}

function productsOf({ url, token }: TestServer, source: string): Promise<unknown> {
  const client = new TidemarkClient({ url, token });
  return client.documents.read({ source, shared: true }, 'md').catch(() => null);
}

it('[PG-203] a server runs the connectors of its configuration, through the same API as every backend', async () => {
  const { database, config } = await makeDatabase('Product');
  const server = await startServer([config]);
  await expect.poll(() => productsOf(server, 'Product'), WAIT).toEqual({ 1: { name: 'rope' } });
  await database.sql.unsafe(`INSERT INTO products VALUES (2, 'hook')`);
  await expect.poll(() => productsOf(server, 'Product'), WAIT).toEqual({ 1: { name: 'rope' }, 2: { name: 'hook' } });
  const facts = await new TidemarkClient(server).audit.list();
  expect(facts).toContainEqual(
    expect.objectContaining({ actor: 'connector field', action: 'source.declare', result: 'ok' }),
  );
  // The token of the connector is known to this process only.
  expect(await new TidemarkClient(server).tokens.list()).not.toContainEqual(
    expect.objectContaining({ user: 'connector field' }),
  );
});

it('[PG-249] every server of a cluster makes what devices change, under the name of the connector', async () => {
  const { database, config } = await makeDatabase('Written');
  await database.sql.unsafe(`
    CREATE SCHEMA tidemark;
    CREATE TABLE tidemark.operations (op_id text PRIMARY KEY, object_id text NOT NULL, at timestamptz NOT NULL DEFAULT now());
    ALTER TABLE products ADD CHECK (name <> 'forbidden')`);
  const table = { source: 'Written', owner: 'shared', writable: ['name'], devices: { delete: true } } as const;
  const mapping = { ...config.mapping, tables: { 'public.products': table } };
  const server = await startServer([{ ...config, mapping }]);
  await expect.poll(() => productsOf(server, 'Written'), WAIT).toEqual({ 1: { name: 'rope' } });
  const client = new TidemarkClient(server);
  expect(await client.sources.get('Written')).toMatchObject({ adapter: 'field', read_only: false, poll_interval: -1 });
  await client.users.create({ login: 'ada', password: 'kelp-forest-9341' });
  const device = await openDevice({ url: server.url });
  onTestFinished(() => device.close());
  await device.signIn({ login: 'ada', password: 'kelp-forest-9341' });
  await device.sync();
  const products = device.source('Written');
  await products.update('1', { name: 'line' });
  await expect.poll(() => database.sql`SELECT name FROM products`, WAIT).toEqual([{ name: 'line' }]);
  await expect.poll(() => productsOf(server, 'Written'), WAIT).toEqual({ 1: { name: 'line' } });
  await products.update('1', { name: 'forbidden' });
  const reasons = () => device.problems.list().map(({ error }) => error.detail);
  await expect.poll(reasons, WAIT).toEqual(['it breaks a rule of the database (rule products_name_check)']);
  await client.sources.refresh('Written', 'ada');
  await device.sync();
  expect(products.list()).toMatchObject([{ id: '1', attributes: { name: 'line' } }]);
  await products.delete('1');
  await expect.poll(() => productsOf(server, 'Written'), WAIT).toEqual({});
});
