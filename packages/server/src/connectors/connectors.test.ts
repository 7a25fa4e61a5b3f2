import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { TidemarkClient } from '@tidemark/backend';
import { openDevice } from '@tidemark/client';
import { parseDatabaseUrl } from '@tidemark/postgres';
import { startPostgres, startValkey, temporaryFolder } from '@tidemark/testing/kit';
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

it('[PG-204] a connector reports what it does: state, lag, position, slot and the progress of each table', async () => {
  const { database, config } = await makeDatabase('Report');
  const server = await startServer([config]);
  const { connectors } = new TidemarkClient(server);
  const tables = async () => (await connectors.get('field')).tables;
  await expect
    .poll(tables, WAIT)
    .toEqual([expect.objectContaining({ table: 'public.products', source: 'Report', phase: 'ready', percent: 100 })]);
  await database.sql.unsafe(`INSERT INTO products VALUES (2, 'hook')`);
  await expect.poll(async () => (await connectors.get('field')).rows_total, WAIT).toBe(2);
  const [connector] = await connectors.list();
  expect(connector).toMatchObject({
    ...{ name: 'field', kind: 'postgres', state: 'streaming', runs_in: 'server', is_configured: true },
    slot: { name: 'slot_report', active: true, wal_status: 'reserved', invalidation_reason: null },
    position: expect.stringMatching(/^[0-9A-F]+\/[0-9A-F]+$/),
    ...{ error: null, problems: { count: 0, samples: [] }, waiting: { count: 0, samples: [] }, faults: [] },
  });
  expect(connector?.slot?.retained_bytes).toBeGreaterThanOrEqual(0);
});

/** Reads what `/readyz` and `/metrics` say. */
async function healthOf({ url, token }: TestServer) {
  const headers = { 'x-sync-api-token': token };
  const readyz = await fetch(`${url}/readyz`, { headers });
  const metrics = await (await fetch(`${url}/metrics`, { headers })).text();
  const gauges = metrics.split('\n').filter((line) => line.startsWith('tidemark_connector_'));
  const readiness = (await readyz.json()) as Record<string, unknown>;
  return { status: readyz.status, readiness, gauges: gauges.map((line) => line.replace('{connector="field"}', '')) };
}

it('[PG-209] a database that cannot be reached is in /readyz and the metrics, and takes no server out of rotation', async () => {
  const { config } = await makeDatabase('Away');
  const away = { ...config, address: { ...config.address, password: 'kelp-9341-wrong' } };
  const server = await startServer([away]);
  await expect.poll(async () => (await healthOf(server)).readiness.degraded, WAIT).toBe(true);
  const { status, readiness, gauges } = await healthOf(server);
  expect({ status, readiness }).toMatchObject({
    status: 200,
    readiness: {
      status: 'ready',
      connectors: [
        {
          ...{ name: 'field', state: 'waiting' },
          faults: [{ code: 'not_connected', message: expect.stringContaining('password authentication failed') }],
        },
      ],
    },
  });
  expect(gauges).toEqual(expect.arrayContaining(['tidemark_connector_connected 0', 'tidemark_connector_faults 1']));
  expect(await new TidemarkClient(server).connectors.check('field')).toMatchObject({
    name: 'field',
    findings: [{ code: 'unreachable', level: 'error', sql: [] }],
  });
  // Others are told whether, and not what.
  expect(await (await fetch(`${server.url}/readyz`)).json()).toEqual({ status: 'ready', degraded: true });
});

it('[PG-216] state of the slot, position, log and rows of a connector are metrics', async () => {
  const { database, config } = await makeDatabase('Measured');
  const server = await startServer([config]);
  const { connectors } = new TidemarkClient(server);
  await expect.poll(async () => (await connectors.get('field').catch(() => null))?.slot?.active, WAIT).toBe(true);
  const gauges = async () => {
    const lines = (await healthOf(server)).gauges.map((line) => line.split(' '));
    return Object.fromEntries(lines.map(([name, value]) => [name?.replace('tidemark_connector_', ''), Number(value)]));
  };
  await expect.poll(gauges, WAIT).toMatchObject({ slot_state: 0, slot_in_danger: 0, refused_rows: 0, connected: 1 });
  await database.sql.unsafe(`INSERT INTO products VALUES (2, 'hook')`);
  const [end] = await database.sql`SELECT (pg_current_wal_insert_lsn() - '0/0')::text AS bytes`;
  const isPast = async () => ((await gauges()).position_bytes ?? 0) >= Number(end?.bytes);
  await expect.poll(isPast, WAIT).toBe(true);
  expect(Object.keys(await gauges())).toEqual(
    expect.arrayContaining(['lag_seconds', 'wal_retained_bytes', 'rows_per_second']),
  );
});

it('[PG-210] a slot that the database has given up is in /readyz and the metrics', async () => {
  const small = await startPostgres({ settings: { max_slot_wal_keep_size: '2MB', wal_keep_size: '0' } });
  onTestFinished(() => small.remove());
  await small.sql.unsafe('CREATE TABLE products (id int PRIMARY KEY, name text)');
  await small.sql.unsafe('CREATE PUBLICATION tidemark FOR ALL TABLES');
  const { config } = await makeDatabase('Lost');
  // Its connector cannot log in, as one that was stopped for long; somebody else has made the slot.
  await small.sql.unsafe(`SELECT pg_create_logical_replication_slot('slot_lost', 'pgoutput')`);
  await small.sql.unsafe(`CREATE ROLE reader LOGIN PASSWORD 'only-for-tests'`);
  const address = { ...parseDatabaseUrl(small.url), user: 'reader' };
  const server = await startServer([{ ...config, address }]);
  await expect.poll(async () => (await healthOf(server)).gauges, WAIT).toContain('tidemark_connector_slot_in_danger 0');
  for (let round = 0; round < 8; round++) {
    await small.sql.unsafe(
      `INSERT INTO products SELECT n + ${round} * 10000, repeat('x', 100) FROM generate_series(1, 8000) n`,
    );
    await small.sql.unsafe('SELECT pg_switch_wal()');
    await small.sql.unsafe('CHECKPOINT');
  }
  await expect.poll(async () => (await healthOf(server)).gauges, WAIT).toContain('tidemark_connector_slot_in_danger 1');
  const { connectors } = (await healthOf(server)).readiness as { connectors: { faults: { code: string }[] }[] };
  expect(connectors[0]?.faults.map(({ code }) => code)).toContain('slot_lost');
});

it('[PG-211] other connectors come into force while the server runs, and those that are the same go on', async () => {
  const [first, second] = [await makeDatabase('First'), await makeDatabase('Second')];
  const server = await startServer([first.config]);
  await expect.poll(() => productsOf(server, 'First'), WAIT).toEqual({ 1: { name: 'rope' } });
  const other = { ...second.config, name: 'other' };
  await server.configureConnectors([structuredClone(first.config), other]);
  await expect.poll(() => productsOf(server, 'Second'), WAIT).toEqual({ 1: { name: 'rope' } });
  const { connectors } = new TidemarkClient(server);
  expect(await connectors.get('field')).toMatchObject({ state: 'streaming' });
  await server.configureConnectors([other]);
  await expect
    .poll(async () => await connectors.get('field'), WAIT)
    .toMatchObject({ state: 'stopped', is_configured: false });
  await connectors.delete('field');
  expect((await connectors.list()).map(({ name }) => name)).toEqual(['other']);
});

it('[PG-261] a server that does not run the connector makes the changes of its devices, by the hooks of the mapping, and takes over', async () => {
  const [{ database, config }, valkey, folder] = [
    await makeDatabase('Shared'),
    await startValkey(),
    await temporaryFolder(),
  ];
  await database.sql.unsafe(`
    CREATE SCHEMA tidemark;
    CREATE TABLE tidemark.operations (op_id text PRIMARY KEY, object_id text NOT NULL, at timestamptz NOT NULL DEFAULT now())`);
  const hook = `async (sql, { id, attributes }) => {
    await sql.unsafe('UPDATE products SET name = upper($1)', [attributes.name]);
    return id;
  }`;
  writeFileSync(join(folder.path, 'hooks.mjs'), `export const hooks = { 'public.products': ${hook} };`);
  const table = { source: 'Shared', owner: 'shared', writable: ['name'] } as const;
  const mapping = { ...config.mapping, tables: { 'public.products': table }, writing: { hooks: 'hooks.mjs' } };
  const connectors = [{ ...config, mapping, mappingFolder: folder.path }];
  const first = await startTestServer({ connectors, store: valkey.address });
  let isFirstOpen = true;
  const closeFirst = async () => {
    if (isFirstOpen) await first.close();
    isFirstOpen = false;
  };
  onTestFinished(async () => {
    await closeFirst();
    await valkey.remove();
    await folder.remove();
  });
  await expect.poll(() => productsOf(first, 'Shared'), WAIT).toEqual({ 1: { name: 'rope' } });
  const second = await startTestServer({ connectors, store: valkey.address });
  onTestFinished(() => second.close());
  await new TidemarkClient(first).users.create({ login: 'ada', password: 'kelp-forest-9341' });
  const device = await openDevice({ url: second.url });
  onTestFinished(() => device.close());
  await device.signIn({ login: 'ada', password: 'kelp-forest-9341' });
  await device.sync();
  await device.source('Shared').update('1', { name: 'line' });
  await expect.poll(() => productsOf(second, 'Shared'), WAIT).toEqual({ 1: { name: 'LINE' } });
  await expect.poll(() => device.uploads.list().length, WAIT).toBe(0);
  await closeFirst();
  await device.source('Shared').update('1', { name: 'net' });
  await expect.poll(() => productsOf(second, 'Shared'), WAIT).toEqual({ 1: { name: 'NET' } });
  expect(device.problems.list()).toEqual([]);
});
