import { setTimeout as pause } from 'node:timers/promises';
import type { Mapping } from '@tidemark/postgres';
import type { ConnectorProcess } from '../connector-process.ts';
import { startListeners } from '../listeners.ts';
import { openPostgresFixture, type PostgresFixture } from '../postgres-fixture.ts';
import type { Row } from '../row.ts';

const COPIED_ROWS_PER_S_MIN = 20_000;
const STREAMED_PER_S_MIN = 10_000;
const DEVICE_MS_MAX = 500;
/** Memory that grows with the transaction would be ten times as much. */
const MEMORY_RATIO_MAX = 1.5;
/** Of the rows of a table, so many are changed one by one, and in the smaller one of two transactions. */
const SHARE = 10;
const SLOWER_THAN_AIMED = 'what Tidemark does with a row takes most of the time: see docs/guides/postgres.md';
const COMMITS = 100;
/** Longer than the server gathers changes, so that each is sent by itself. */
const BETWEEN_MS = 100;

const ORDERS: Mapping['tables'] = { 'public.orders': { source: 'Order', owner: { group: 'depot' } } };
const PRICES: Mapping['tables'] = { 'public.prices': { source: 'Price', owner: 'shared' } };
const CLOCK: Mapping['tables'] = { 'public.clock': { source: 'Clock', owner: 'shared' } };

/** A Postgres database that is connected: its copy, its changes one by one and many at once, and how soon a device has them. */
export async function postgres(say: (line: string) => void, rows: number): Promise<readonly Row[]> {
  say(`filling two tables with ${rows} rows each`);
  const fixture = await openPostgresFixture(rows);
  try {
    return [
      await copyRow(fixture, 'rows of groups', { rows, name: 'orders', tables: ORDERS }),
      await copyRow(fixture, 'rows of everybody', { rows, name: 'prices', tables: PRICES }),
      await streamRow(fixture, Math.ceil(rows / SHARE)),
      await memoryRow(fixture, rows),
      await deviceRow(fixture),
    ];
  } finally {
    await fixture.close();
  }
}

interface Copy {
  readonly rows: number;
  /** The name of the table, and of the connector. */
  readonly name: string;
  readonly tables: Mapping['tables'];
}

async function copyRow(fixture: PostgresFixture, what: string, { rows, name, tables }: Copy): Promise<Row> {
  const bareMs = await fixture.time('psql', ['-q', '-c', `COPY ${name} TO STDOUT`]);
  const connector = fixture.connect(name, tables);
  const startedMs = await connector.streaming();
  const ownMs = (await connector.copied(Object.keys(tables))) - startedMs;
  await connector.stop();
  return rateRow(`Postgres: ${what} copied, rows/s`, {
    own: (rows / ownMs) * 1_000,
    aim: COPIED_ROWS_PER_S_MIN,
    beside: `COPY … TO STDOUT ${perSecond(rows, bareMs)}`,
  });
}

/** The changes are there before the connector starts, so that both read as fast as they can. */
async function streamRow(fixture: PostgresFixture, count: number): Promise<Row> {
  const { sql } = fixture;
  await sql`SELECT pg_copy_logical_replication_slot('orders', 'bare')`;
  await sql.unsafe(`CALL change_each(${count})`);
  const end = await position(fixture);
  const options = ['-o', 'proto_version=1', '-o', 'publication_names=tidemark', '-o', 'messages=true'];
  const target = ['--start', '--slot', 'bare', '--no-loop', '--endpos', end, '-f', '/dev/null'];
  const bareMs = await fixture.time('pg_recvlogical', [...target, ...options]);
  await sql`SELECT pg_drop_replication_slot('bare')`;
  const connector = fixture.connect('orders', ORDERS);
  const startedMs = await connector.streaming();
  const ownMs = (await connector.durable(end)) - startedMs;
  await connector.stop();
  return rateRow('Postgres: transactions of one row streamed, each second', {
    own: (count / ownMs) * 1_000,
    aim: STREAMED_PER_S_MIN,
    beside: `pg_recvlogical ${perSecond(count, bareMs)}`,
  });
}

/** A process of its own for each transaction, because the peak of a process never falls. */
async function memoryRow(fixture: PostgresFixture, rows: number): Promise<Row> {
  const small = Math.ceil(rows / SHARE);
  const smallBytes = await peakOf(fixture, small);
  const largeBytes = await peakOf(fixture, rows);
  return {
    name: `Postgres: peak memory of the connector, a transaction of ${rows.toLocaleString('en')} rows`,
    measured: megabytes(largeBytes),
    against: `${megabytes(smallBytes)} with ${small.toLocaleString('en')} rows`,
    ratio: largeBytes / smallBytes,
    bound: { atMost: MEMORY_RATIO_MAX },
    knownMiss: 'the heap grows with the 200,000 assignments that are cached, and not beyond; see decision 0175',
  };
}

async function peakOf(fixture: PostgresFixture, rows: number): Promise<number> {
  const connector = fixture.connect('orders', ORDERS);
  await connector.streaming();
  await fixture.sql.unsafe(`UPDATE orders SET priority = priority + 1 WHERE id <= ${rows}`);
  await connector.durable(await position(fixture));
  const bytes = await connector.peakBytes();
  await connector.stop();
  return bytes;
}

async function deviceRow(fixture: PostgresFixture): Promise<Row> {
  const connector = fixture.connect('clock', CLOCK);
  await connector.copied(Object.keys(CLOCK));
  await shown(fixture, connector);
  const listeners = await startListeners({ port: fixture.server.port, tokens: [fixture.deviceToken] });
  const times: number[] = [];
  for (let commit = 0; commit < COMMITS; commit++) {
    const heard = listeners.heard();
    const sentMs = performance.timeOrigin + performance.now();
    await fixture.sql`UPDATE clock SET ticks = ticks + 1`;
    const [atMs = 0] = await heard;
    times.push(atMs - sentMs);
    await pause(BETWEEN_MS);
  }
  listeners.close();
  await connector.stop();
  const at = (share: number) =>
    [...times].sort((left, right) => left - right)[Math.ceil(share * times.length) - 1] ?? 0;
  const slowMs = at(0.95);
  return {
    name: 'Postgres: from the COMMIT until a live device has heard of it, 95th percentile',
    measured: `${slowMs.toFixed(0)} ms`,
    against: `${DEVICE_MS_MAX} ms; half of them ${at(0.5).toFixed(0)} ms, the slowest of ${COMMITS} ${at(1).toFixed(0)} ms`,
    ratio: slowMs / DEVICE_MS_MAX,
    bound: { atMost: 1 },
  };
}

/** Devices see a source, and hear of it, when the connector has released it: after a change behind the copy. */
async function shown(fixture: PostgresFixture, connector: ConnectorProcess): Promise<void> {
  await fixture.sql`UPDATE clock SET ticks = ticks + 1`;
  await connector.durable(await position(fixture));
}

async function position({ sql }: PostgresFixture): Promise<string> {
  // A position behind what was written, and a message there, so that the stream arrives at it.
  const [row] = await sql<{ lsn: string }>`SELECT pg_logical_emit_message(true, 'bench', '')::text AS lsn`;
  await sql`SELECT pg_logical_emit_message(true, 'bench', '')`;
  return row?.lsn ?? '';
}

function rateRow(name: string, rate: { readonly own: number; readonly aim: number; readonly beside: string }): Row {
  return {
    name,
    measured: Math.round(rate.own).toLocaleString('en'),
    against: `${rate.aim.toLocaleString('en')}; ${rate.beside}`,
    ratio: rate.own / rate.aim,
    bound: { atLeast: 1 },
    knownMiss: SLOWER_THAN_AIMED,
  };
}

function perSecond(count: number, ms: number): string {
  return Math.round((count / ms) * 1_000).toLocaleString('en');
}

function megabytes(bytes: number): string {
  return `${(bytes / 1e6).toFixed(0)} MB`;
}
