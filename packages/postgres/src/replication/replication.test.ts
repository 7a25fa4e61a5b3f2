import { type PostgresDatabase, type PostgresServer, startPostgres, TcpProxy } from '@tidemark/testing/kit';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { type Clock, systemClock } from '../clock.ts';
import { parseDatabaseUrl } from '../sql/parse-url.ts';
import { formatLsn, parseLsn } from './lsn.ts';
import type { Arrival, Lsn, Message, Relation } from './message.ts';
import { ReplicationConnection } from './replication-connection.ts';
import { BUFFERED_BYTES_MAX, type ReplicationStream } from './replication-stream.ts';
import { createPublicationSql, createSlot, dropSlot, readSlot } from './slot.ts';

const PUBLICATION = 'tidemark "test"';

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ settings: { max_replication_slots: '20', max_wal_senders: '20' } });
});
afterAll(() => server.remove());

interface Opened {
  readonly database: PostgresDatabase;
  readonly slot: string;
  /** Opens a stream at the slot; closed at the end of the test. */
  connect(options?: ConnectOptions): Promise<ReplicationStream>;
}

interface ConnectOptions {
  readonly port?: number;
  readonly clock?: Clock;
}

/** A database with the tables that the statements make, a publication of all of them, and a slot. */
async function open(...statements: readonly string[]): Promise<Opened> {
  const database = await server.createDatabase();
  for (const statement of statements) await database.sql.unsafe(statement);
  const tables = await database.sql<{
    name: string;
  }>`SELECT format('%I', relname) AS name FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`;
  await database.sql.unsafe(
    createPublicationSql(
      PUBLICATION,
      tables.map(({ name }) => name),
    ),
  );
  const slot = `slot_${database.name}`;
  await createSlot(database.sql, slot);
  return {
    database,
    slot,
    async connect({ port = server.port, clock = systemClock } = {}) {
      const connection = ReplicationConnection.open({ ...parseDatabaseUrl(database.url), port }, clock);
      onTestFinished(() => connection.close());
      return connection.start({ slot, publication: PUBLICATION });
    },
  };
}

/** Takes messages up to and with the named number of commits. */
async function messagesOf(stream: ReplicationStream, commits = 1): Promise<Message[]> {
  const messages: Message[] = [];
  for await (const arrival of stream) {
    if (arrival.type !== 'data') continue;
    messages.push(arrival.message);
    if (messages.filter(({ type }) => type === 'commit').length === commits) break;
  }
  return messages;
}

/** The changes alone, with the names of the tables instead of their numbers. */
function changesOf(messages: readonly Message[]): unknown[] {
  const names = new Map<number, string>();
  return messages.flatMap((message): unknown[] => {
    if (message.type === 'relation') names.set(message.relation.id, message.relation.name);
    if (message.type === 'truncate')
      return [{ type: 'truncate', tables: message.relationIds.map((id) => names.get(id)) }];
    if (!('relationId' in message)) return [];
    const { relationId, ...rest } = message;
    return [{ ...rest, table: names.get(relationId) }];
  });
}

describe('a replication connection', () => {
  it('[PG-4] inserts, updates, deletes and truncations arrive in order, in their transaction', async () => {
    const { database, connect } = await open(
      'CREATE TABLE parent (id int PRIMARY KEY, name text)',
      'CREATE TABLE "Über" (id int PRIMARY KEY)',
    );
    await database.sql.begin(async (sql) => {
      await sql`INSERT INTO parent VALUES (1, 'one'), (2, NULL)`;
      await sql`UPDATE parent SET name = 'zwölf 🦆' WHERE id = 2`;
      await sql`DELETE FROM parent WHERE id = 1`;
      await sql`INSERT INTO "Über" VALUES (7)`;
      await sql`TRUNCATE parent, "Über" RESTART IDENTITY CASCADE`;
    });
    const messages = await messagesOf(await connect());
    expect(changesOf(messages)).toEqual([
      { type: 'insert', table: 'parent', row: ['1', 'one'] },
      { type: 'insert', table: 'parent', row: ['2', null] },
      { type: 'update', table: 'parent', old: null, row: ['2', 'zwölf 🦆'] },
      { type: 'delete', table: 'parent', old: { kind: 'key', values: ['1', null] } },
      { type: 'insert', table: 'Über', row: ['7'] },
      { type: 'truncate', tables: ['parent', 'Über'] },
    ]);
    const [begin, commit] = [messages[0], messages.at(-1)];
    expect([begin?.type, commit?.type]).toEqual(['begin', 'commit']);
    if (begin?.type !== 'begin' || commit?.type !== 'commit') throw new Error('the transaction has no borders');
    expect([begin.commitLsn, begin.committedAtMs]).toEqual([commit.lsn, commit.committedAtMs]);
    expect(commit.endLsn > commit.lsn).toBe(true);
  });

  it('[PG-5] a value out of line that was not changed is undefined, never null', async () => {
    const { database, connect } = await open(
      'CREATE TABLE notes (id int PRIMARY KEY, title text, body text)',
      'ALTER TABLE notes ALTER body SET STORAGE EXTERNAL',
    );
    await database.sql`INSERT INTO notes VALUES (1, 'a', repeat('x', 10000))`;
    await database.sql`UPDATE notes SET title = 'b'`;
    await database.sql`UPDATE notes SET body = NULL`;
    expect(changesOf(await messagesOf(await connect(), 3))).toEqual([
      { type: 'insert', table: 'notes', row: ['1', 'a', 'x'.repeat(10_000)] },
      { type: 'update', table: 'notes', old: null, row: ['1', 'b', undefined] },
      { type: 'update', table: 'notes', old: null, row: ['1', 'b', null] },
    ]);
  });

  it('[PG-6] old tuples have what the replica identity has: the key when it changed, an index, or the whole row', async () => {
    const { database, connect } = await open(
      'CREATE TABLE by_key (id int PRIMARY KEY, depot text NOT NULL)',
      'CREATE TABLE by_index (id int PRIMARY KEY, depot text NOT NULL, UNIQUE (id, depot))',
      'ALTER TABLE by_index REPLICA IDENTITY USING INDEX by_index_id_depot_key',
      'CREATE TABLE by_row (id int PRIMARY KEY, depot text NOT NULL)',
      'ALTER TABLE by_row REPLICA IDENTITY FULL',
    );
    for (const table of ['by_key', 'by_index', 'by_row']) {
      await database.sql.unsafe(`INSERT INTO ${table} VALUES (1, 'north')`);
      await database.sql.unsafe(`UPDATE ${table} SET depot = 'south'`);
      await database.sql.unsafe(`UPDATE ${table} SET id = 2`);
      await database.sql.unsafe(`DELETE FROM ${table}`);
    }
    const messages = await messagesOf(await connect(), 12);
    const identities = messages.flatMap((message): Relation[] =>
      message.type === 'relation' ? [message.relation] : [],
    );
    expect(
      identities.map(({ name, identity, columns }) => [
        name,
        identity,
        columns.map(({ isInIdentity }) => isInIdentity),
      ]),
    ).toEqual([
      ['by_key', 'default', [true, false]],
      ['by_index', 'index', [true, true]],
      ['by_row', 'full', [true, true]],
    ]);
    const olds = changesOf(messages).flatMap((change) => {
      const { type, old } = change as { readonly type: string; readonly old?: unknown };
      return type === 'insert' ? [] : [old];
    });
    const key = (...values: readonly (string | null)[]) => ({ kind: 'key', values });
    const full = (...values: readonly string[]) => ({ kind: 'full', values });
    expect(olds).toEqual([
      ...[null, key('1', null), key('2', null)],
      ...[key('1', 'north'), key('1', 'south'), key('2', 'south')],
      ...[full('1', 'north'), full('1', 'south'), full('2', 'south')],
    ]);
  });

  it('[PG-7] messages in the log arrive: inside of their transaction, or at once', async () => {
    const { database, connect } = await open('CREATE TABLE one (id int PRIMARY KEY)');
    const stream = await connect();
    await expect(
      database.sql.begin(async (sql) => {
        await sql`SELECT pg_logical_emit_message(false, 'at once', 'A')`;
        await sql`SELECT pg_logical_emit_message(true, 'rolled back', 'B')`;
        throw new Error('rolled back');
      }),
    ).rejects.toThrow('rolled back');
    await database.sql`SELECT pg_logical_emit_message(true, 'in a transaction', convert_to('Ü', 'UTF8'))`;
    const messages = await messagesOf(stream);
    const seen = messages.map((message) =>
      message.type === 'message'
        ? [message.isTransactional, message.prefix, Buffer.from(message.content).toString()]
        : message.type,
    );
    expect(seen).toEqual([[false, 'at once', 'A'], 'begin', [true, 'in a transaction', 'Ü'], 'commit']);
  });

  it('[PG-8] a transaction of 100,000 rows passes a slow consumer in bounded memory', async () => {
    const { database, connect } = await open('CREATE TABLE many (id int PRIMARY KEY, filling text)');
    const stream = await connect();
    await database.sql`INSERT INTO many SELECT n, repeat('x', 100) FROM generate_series(1, 100000) n`;
    let rows = 0;
    let bufferedMax = 0;
    for await (const arrival of stream) {
      bufferedMax = Math.max(bufferedMax, stream.bufferedBytes);
      if (arrival.type !== 'data') continue;
      if (arrival.message.type === 'commit') break;
      if (arrival.message.type !== 'insert') continue;
      rows += 1;
      // Whatever can arrive arrives now and then, while the consumer does nothing.
      if (rows % 10_000 === 1) {
        await untilSettled(stream);
        bufferedMax = Math.max(bufferedMax, stream.bufferedBytes);
      }
    }
    expect(rows).toBe(100_000);
    expect(bufferedMax).toBeGreaterThanOrEqual(BUFFERED_BYTES_MAX);
    expect(bufferedMax).toBeLessThan(BUFFERED_BYTES_MAX + 256 * 1024);
  });

  it('[PG-9] a connection that is cut in the middle of a message gives an error, and the next one gets the whole transaction', async () => {
    const { database, connect } = await open('CREATE TABLE big (id int PRIMARY KEY, body text)');
    const proxy = await TcpProxy.open(server.port);
    onTestFinished(() => proxy.close());
    const cut = await connect({ port: proxy.port });
    // Only the first part of the row passes.
    proxy.stall(undefined, (bytes) => bytes.includes('yyyy'));
    await database.sql`INSERT INTO big VALUES (1, repeat('x', 200000) || repeat('y', 800000))`;
    await expect.poll(() => proxy.heldChunks).toBeGreaterThan(0);
    const taken: Message[] = [];
    const reading = (async () => {
      for await (const arrival of cut) if (arrival.type === 'data') taken.push(arrival.message);
    })();
    proxy.cut();
    await expect(reading).rejects.toThrow(/CONNECTION_CLOSED|ECONNRESET|ended/);
    expect(taken.filter(({ type }) => type === 'insert' || type === 'commit')).toEqual([]);
    proxy.restore();
    const whole = await untilConnected(() => connect({ port: proxy.port }));
    expect(changesOf(await messagesOf(whole))).toEqual([
      { type: 'insert', table: 'big', row: ['1', 'x'.repeat(200_000) + 'y'.repeat(800_000)] },
    ]);
  });

  it('[PG-9] a server that is killed ends the stream with an error, and goes on from the slot when it is back', async () => {
    const own = await startPostgres();
    onTestFinished(() => own.remove());
    await own.sql`CREATE TABLE one (id int PRIMARY KEY)`;
    await own.sql.unsafe(createPublicationSql('ours', ['one']));
    await createSlot(own.sql, 'ours');
    const start = () => {
      const connection = ReplicationConnection.open(parseDatabaseUrl(own.url));
      onTestFinished(() => connection.close());
      return connection.start({ slot: 'ours', publication: 'ours' });
    };
    const stream = await start();
    await own.sql`INSERT INTO one VALUES (1)`;
    await messagesOf(stream);
    const cut = expect(messagesOf(stream)).rejects.toThrow(Error);
    await own.kill();
    await cut;
    await expect(start()).rejects.toThrow(Error);
    await own.restart();
    expect(changesOf(await messagesOf(await start()))).toEqual([{ type: 'insert', table: 'one', row: ['1'] }]);
  });

  it('[PG-9] a stream whose process is terminated says what the server said', async () => {
    const { database, connect } = await open('CREATE TABLE one (id int PRIMARY KEY)');
    const reading = messagesOf(await connect());
    const ended = expect(reading).rejects.toThrow('terminating connection due to administrator command');
    await database.sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'walsender'`;
    await ended;
  });

  it('[PG-10] the server forgets what was acknowledged, and never more', async () => {
    const { database, slot, connect } = await open('CREATE TABLE one (id int PRIMARY KEY)');
    const before = await confirmed(database, slot);
    const first = await connect({ clock: manualClock().clock });
    for (const id of [1, 2, 3]) await database.sql`INSERT INTO one VALUES (${id})`;
    const ends = (await messagesOf(first, 3)).flatMap((message): Lsn[] =>
      message.type === 'commit' ? [message.endLsn] : [],
    );
    // Everything was received, and the server asked for replies.
    expect(await confirmed(database, slot)).toBe(before);
    first.acknowledge(ends[1] ?? 0n);
    await expect.poll(() => confirmed(database, slot)).toBe(ends[1]);
    expect(() => first.acknowledge(ends[0] ?? 0n)).toThrow(
      new Error(`position ${formatLsn(ends[0] ?? 0n)} is before ${formatLsn(ends[1] ?? 0n)}, which is acknowledged`),
    );
    await first.close();
    const again = await untilConnected(() => connect());
    expect(changesOf(await messagesOf(again))).toEqual([{ type: 'insert', table: 'one', row: ['3'] }]);
    expect(await confirmed(database, slot)).toBe(ends[1]);
  });

  it('[PG-11] the server hears from a client whose consumer is busy, three times as often as it insists on', async () => {
    const { database, connect } = await open('CREATE TABLE many (id int PRIMARY KEY, filling text)');
    const time = manualClock();
    const stream = await connect({ clock: time.clock });
    await database.sql`INSERT INTO many SELECT n, repeat('x', 1000) FROM generate_series(1, 5000) n`;
    await untilSettled(stream);
    for (const passedMs of [10_000, 20_000]) {
      time.pass(10_000);
      await expect.poll(() => replyTimeMs(database)).toBe(time.startMs + passedMs);
    }
    await stream.close();
    await database.sql.unsafe(`ALTER ROLE postgres IN DATABASE ${database.name} SET wal_sender_timeout = '15s'`);
    await untilConnected(() => connect({ clock: time.clock }));
    expect(time.periodsMs).toEqual([10_000, 5_000]);
  });

  it('[PG-12] a server that is silent for too long ends the stream; one whose messages wait in the buffer does not', async () => {
    const { database, connect } = await open('CREATE TABLE many (id int PRIMARY KEY, filling text)');
    const proxy = await TcpProxy.open(server.port);
    onTestFinished(() => proxy.close());
    const time = manualClock();
    const stream = await connect({ port: proxy.port, clock: time.clock });
    await database.sql`INSERT INTO many SELECT n, repeat('x', 1000) FROM generate_series(1, 5000) n`;
    await untilSettled(stream);
    time.pass(1_000_000);
    expect((await messagesOf(stream)).length).toBe(5_003);
    proxy.stall();
    time.pass(1_000_000);
    await expect(messagesOf(stream)).rejects.toThrow('the server was silent for 1000 s on the replication connection');
  });

  it('[PG-13] a stream that is closed ends its iteration and frees the slot', async () => {
    const { database, slot, connect } = await open('CREATE TABLE one (id int PRIMARY KEY)');
    const stream = await connect();
    await expect.poll(async () => (await readSlot(database.sql, slot))?.isActive).toBe(true);
    const reading = messagesOf(stream);
    await stream.close();
    expect(await reading).toEqual([]);
    await expect.poll(async () => (await readSlot(database.sql, slot))?.isActive).toBe(false);
  });

  it('[PG-14] a keep-alive without changes says how far the server has come, so that an idle slot can move on', async () => {
    const { database, slot, connect } = await open(
      'CREATE TABLE one (id int PRIMARY KEY)',
      'CREATE TABLE other (id int)',
    );
    await database.sql.unsafe(`ALTER PUBLICATION "tidemark ""test""" DROP TABLE other`);
    const stream = await connect();
    await database.sql`INSERT INTO other SELECT generate_series(1, 1000)`;
    const [row] = await database.sql`SELECT pg_current_wal_lsn() AS lsn`;
    const target = parseLsn(String(row?.lsn));
    let last: Arrival | null = null;
    for await (const arrival of stream) {
      last = arrival;
      if (arrival.type === 'keepalive' && arrival.lsn >= target) break;
      // The empty transaction comes with its borders on old versions.
      if (arrival.type === 'keepalive') stream.acknowledge(arrival.lsn);
    }
    stream.acknowledge(last?.lsn ?? 0n);
    await expect.poll(async () => ((await confirmed(database, slot)) ?? 0n) >= target).toBe(true);
  });

  it('[PG-15] the identity of a database tells a restored or another one apart', async () => {
    const other = await startPostgres({ isNewSystem: true });
    onTestFinished(() => other.remove());
    const identities = await Promise.all(
      [server, server, other].map(async ({ url }) => {
        const connection = ReplicationConnection.open(parseDatabaseUrl(url));
        onTestFinished(() => connection.close());
        return connection.identify();
      }),
    );
    const [row] = await server.sql`SELECT system_identifier::text AS id FROM pg_control_system()`;
    const ids = identities.map(({ systemId }) => systemId);
    expect([ids[0], ids[1], ids[2] === ids[0]]).toEqual([row?.id, row?.id, false]);
    expect(identities.map(({ timeline, lsn }) => [timeline, lsn > 0n])).toEqual(Array(3).fill([1, true]));
  });

  it('[PG-16] a slot is made, looked at and dropped', async () => {
    const { database, slot } = await open('CREATE TABLE one (id int PRIMARY KEY)');
    const seen = await readSlot(database.sql, slot);
    expect(seen).toEqual({
      name: slot,
      plugin: 'pgoutput',
      database: database.name,
      isOfThisDatabase: true,
      isActive: false,
      restartLsn: expect.any(BigInt),
      confirmedLsn: expect.any(BigInt),
      walStatus: 'reserved',
      retainedBytes: expect.any(Number),
      safeBytes: null,
      invalidationReason: null,
      isFailover: server.version >= 17,
    });
    expect([await dropSlot(database.sql, slot), await dropSlot(database.sql, slot)]).toEqual([true, false]);
    expect(await readSlot(database.sql, slot)).toBeNull();
  });

  it('[PG-16] a slot whose log the server has removed is lost', async () => {
    const small = await startPostgres({
      settings: { max_slot_wal_keep_size: '1MB', max_wal_size: '2MB', min_wal_size: '2MB' },
    });
    onTestFinished(() => small.remove());
    await createSlot(small.sql, 'left_behind');
    expect((await readSlot(small.sql, 'left_behind'))?.safeBytes).toBeGreaterThan(0);
    await small.sql`CREATE TABLE filling AS SELECT repeat('x', 1000) FROM generate_series(1, 10000)`;
    await small.sql`CHECKPOINT`;
    expect(await readSlot(small.sql, 'left_behind')).toMatchObject({ walStatus: 'lost', isActive: false });
  });
});

async function confirmed({ sql }: PostgresDatabase, slot: string): Promise<Lsn | null> {
  return (await readSlot(sql, slot))?.confirmedLsn ?? null;
}

/** When the client sent the last status, by its own clock. */
async function replyTimeMs({ sql, name }: PostgresDatabase): Promise<number> {
  const [row] = await sql`
    SELECT extract(epoch FROM reply_time) * 1000 AS ms FROM pg_stat_replication JOIN pg_stat_activity USING (pid)
    WHERE datname = ${name}`;
  return Number(row?.ms);
}

/** Waits until nothing more arrives: the buffer is full. */
async function untilSettled(stream: ReplicationStream): Promise<void> {
  await expect.poll(() => stream.bufferedBytes).toBeGreaterThanOrEqual(BUFFERED_BYTES_MAX);
}

/** The server needs a moment to notice that a connection is gone. */
async function untilConnected(connect: () => Promise<ReplicationStream>): Promise<ReplicationStream> {
  let stream: ReplicationStream | null = null;
  await expect
    .poll(async () => {
      stream = await connect().catch(() => null);
      return stream;
    })
    .not.toBeNull();
  if (stream === null) throw new Error('there is no connection');
  return stream;
}

/** A clock whose time passes only when a test moves it. */
function manualClock() {
  const startMs = 1_800_000_000_000;
  let nowMs = startMs;
  const periodsMs: number[] = [];
  const actions = new Set<() => void>();
  const clock: Clock = {
    ...systemClock,
    nowMs: () => nowMs,
    every: (periodMs, action) => {
      periodsMs.push(periodMs);
      actions.add(action);
      return () => void actions.delete(action);
    },
  };
  return {
    clock,
    startMs,
    periodsMs,
    pass(ms: number) {
      nowMs += ms;
      for (const action of actions) action();
    },
  };
}
