import { expect, it, vi } from 'vitest';
import type { TableChanges } from '../apply/batch.ts';
import type { MappedTable } from '../apply/row.ts';
import { Snapshot } from '../copy/snapshot.ts';
import { MARK_PREFIX } from '../copy/table-reader.ts';
import type { Arrival, Message } from '../replication/message.ts';
import { Session } from './session.ts';
import { ChunkSizes, type WindowRead } from './table-work.ts';
import type { Tables } from './tables.ts';

const PLAN = { key: [{ name: 'id', typeId: 25, typeModifier: -1 }], attributes: [], owner: { kind: 'shared' } };
const TABLE = { kind: 'objects', label: 'visit', plan: PLAN } as unknown as MappedTable;
const COLUMNS = [{ name: 'id', typeId: 25, typeModifier: -1, isInIdentity: true }];
const RELATION: Message = {
  type: 'relation',
  relation: { id: 1, schema: 'public', name: 'visit', identity: 'default', columns: COLUMNS },
};
const BATCH_ROWS = 2;
const until = (isSo: () => boolean) => vi.waitUntil(isSo, { timeout: 30_000, interval: 1 });

/** A transaction of so many rows, or with a mark, at a position of the log. */
function transaction(at: number, rows: number, mark: string | null = null): readonly Message[] {
  const changes = Array.from(
    { length: rows },
    (_, n): Message => ({ type: 'insert', relationId: 1, row: [`${at}.${n}`] }),
  );
  const content = new TextEncoder().encode(mark ?? '');
  const marks: readonly Message[] =
    mark === null ? [] : [{ type: 'message', isTransactional: true, lsn: 0n, prefix: MARK_PREFIX, content }];
  return [
    { type: 'begin', commitLsn: 0n, committedAtMs: 0, xid: at },
    ...changes,
    ...marks,
    { type: 'commit', lsn: 0n, endLsn: BigInt(at), committedAtMs: 0 },
  ];
}

/** A session whose stream has these messages, and whose changes are applied when the test lets them. */
function openSession(messages: readonly Message[], reads: readonly WindowRead[] = [], batchRowsMax = BATCH_ROWS) {
  const applied: string[][] = [];
  const waiting: { readonly end: () => void; readonly fail: (error: Error) => void }[] = [];
  const stored: bigint[] = [];
  const read: string[] = [];
  const left = [...reads];
  let taken = 0;
  const tables = {
    ...{ isChanged: false, heldAt: null, ordered: [TABLE], sizes: new ChunkSizes() },
    ...{ created: { isHeld: () => false }, isUncopied: () => false, find: () => TABLE, tablesOf: async () => [TABLE] },
    get isBusy() {
      return left.length > 0;
    },
    next: async () => left.shift() ?? null,
    following: ({ following }: WindowRead, chunk: never) => following?.(chunk) ?? null,
    release: async () => undefined,
    reader: {
      readBetween: async ({ last }: WindowRead) => {
        const id = `behind ${last?.[0] ?? 'nothing'}`;
        read.push(id);
        const rows = new Map([[id, new Map([['id', id]])]]);
        return { rows, last: [id], isEnd: false, snapshot: Snapshot.parse('200:200:') };
      },
    },
    apply: (_: MappedTable, changes: TableChanges) => {
      applied.push([...changes.keys()]);
      return new Promise<void>((resolve, reject) => waiting.push({ end: resolve, fail: reject }));
    },
  };
  const stream = {
    bufferedBytes: 1,
    acknowledge: () => undefined,
    close: async () => undefined,
    async *[Symbol.asyncIterator](): AsyncGenerator<Arrival> {
      for (const message of [RELATION, ...messages]) {
        taken++;
        yield { type: 'data', lsn: 0n, message };
      }
      stream.bufferedBytes = 0;
    },
  };
  const session = new Session(stream, tables as unknown as Tables, {
    ...{ runId: 'run', batchRowsMax, batchBytesMax: 1_000, position: 0n, recentXids: [], nowMs: () => 0 },
    turn: async () => undefined,
    pause: async () => undefined,
    onLag: () => undefined,
    onRows: () => undefined,
    store: async (position) => void stored.push(position),
  });
  return { session, applied, waiting, stored, read, taken: () => taken };
}

it('[PG-342] the next batch is read while one is applied, and no more than that; a position is stored behind its own batch alone', async () => {
  const messages = Array.from({ length: 20 }, (_, n) => transaction(n + 1, 1)).flat();
  const { session, applied, waiting, stored, taken } = openSession(messages);
  const running = session.run();
  await until(() => taken() >= 1 + 4 * 3);
  // One batch is under way, and one is complete.
  expect([applied, stored, taken()]).toEqual([[['1.0', '2.0']], [], 1 + 4 * 3]);
  waiting[0]?.end();
  await until(() => applied.length === 2);
  expect([applied[1], stored]).toEqual([['3.0', '4.0'], [2n]]);
  for (let batch = 1; batch < 10; batch++) {
    await until(() => waiting.length > batch);
    waiting[batch]?.end();
  }
  await running;
  expect(stored).toEqual(Array.from({ length: 10 }, (_, n) => BigInt(2 * n + 2)));
});

it('[PG-344] the rows of a transaction are applied together with those before it, unless they are more than a batch by themselves', async () => {
  const messages = [2, 2, 7, 2].flatMap((rows, n) => transaction(n + 1, rows));
  const { session, applied, waiting, stored } = openSession(messages, [], 3);
  const running = session.run();
  for (let batch = 0; batch < 4; batch++) {
    await until(() => waiting.length > batch);
    waiting[batch]?.end();
  }
  await running;
  expect(applied).toEqual([
    ['1.0', '1.1', '2.0', '2.1'],
    ['3.0', '3.1', '3.2'],
    ['3.3', '3.4', '3.5'],
    ['3.6', '4.0', '4.1'],
  ]);
  expect(stored).toEqual([2n, 4n]);
});

it('[PG-342] nothing behind a batch that fails while the next one is read is applied or stored', async () => {
  const messages = Array.from({ length: 20 }, (_, n) => transaction(n + 1, 1)).flat();
  const { session, applied, waiting, stored } = openSession(messages);
  const running = session.run();
  await until(() => waiting.length === 1);
  waiting[0]?.fail(new Error('the server is gone'));
  await expect(running).rejects.toThrow('the server is gone');
  expect([applied.length, stored]).toEqual([1, []]);
});

it('[PG-342] a session that fails or is stopped ends when what it was applying has ended', async () => {
  const { session, waiting, stored } = openSession([...transaction(1, 1), ...transaction(2, 1)]);
  let hasEnded = false;
  const running = session.run().then(() => {
    hasEnded = true;
  });
  await until(() => waiting.length === 1);
  await new Promise((resolve) => setImmediate(resolve));
  expect(hasEnded).toBe(false);
  waiting[0]?.end();
  await running;
  expect(stored).toEqual([2n]);
});

it('[PG-343] the next chunk of a table is read while one is applied, and each is finished behind its own rows', async () => {
  const finished: string[] = [];
  const readBehind = (last: string | null): WindowRead => ({
    ...{ table: TABLE, selection: { kind: 'all' }, last: last === null ? null : [last], limit: 10, named: null },
    finish: async () => void finished.push(last ?? 'nothing'),
    following: ({ last: key }) => (finished.length < 2 ? readBehind(key?.[0] ?? null) : null),
  });
  const marks = [1, 2].flatMap((n) => [`run ${n} low`, `run ${n} high`]);
  const messages = marks.flatMap((mark, n) => transaction(100 + n, 0, mark));
  const { session, applied, waiting, stored, read } = openSession(messages, [readBehind(null)]);
  const running = session.run();
  await until(() => waiting.length === 1);
  expect([applied, read, finished, stored]).toEqual([
    [['behind nothing']],
    ['behind nothing', 'behind behind nothing'],
    [],
    [101n],
  ]);
  waiting[0]?.end();
  await until(() => waiting.length === 2);
  expect([applied[1], finished]).toEqual([['behind behind nothing'], ['nothing']]);
  waiting[1]?.end();
  await running;
  expect(finished).toEqual(['nothing', 'behind nothing']);
});
