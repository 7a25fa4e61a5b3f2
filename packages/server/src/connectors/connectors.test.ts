import { TidemarkClient } from '@tidemark/backend';
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
