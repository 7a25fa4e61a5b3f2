import { expect, it, onTestFinished, vi } from 'vitest';
import type { TableChanges } from '../apply/batch.ts';
import type { MappedTable } from '../apply/row.ts';
import { Overlay } from '../copy/overlay.ts';
import { Snapshot } from '../copy/snapshot.ts';
import { type Chunk, MARK_PREFIX } from '../copy/table-reader.ts';
import type { Message } from '../replication/message.ts';
import { Session } from './session.ts';
import { ChunkSizes, type WindowRead } from './table-work.ts';
import type { Tables } from './tables.ts';

const TABLE = { kind: 'objects', label: 'visit', plan: {} } as unknown as MappedTable;

/** A chunk with one row, as a snapshot saw it. */
function chunkOf(text: string, snapshot: string): Chunk {
  const rows = new Map([['1', new Map([['text', text]])]]);
  return { rows, last: ['1'], isEnd: true, snapshot: Snapshot.parse(snapshot) };
}

/** What the stream brings of a transaction. */
function transaction(xid: number, mark?: string): readonly Message[] {
  const begin = { type: 'begin', commitLsn: 0n, committedAtMs: 0, xid } as const;
  const commit = { type: 'commit', lsn: 0n, endLsn: BigInt(xid), committedAtMs: 0 } as const;
  if (mark === undefined) return [begin, commit];
  const content = new TextEncoder().encode(mark);
  return [begin, { type: 'message', isTransactional: true, lsn: 0n, prefix: MARK_PREFIX, content }, commit];
}

it('[PG-84] a chunk that does not see a transaction before its first mark is not applied, and is read again after a pause', async () => {
  const chunks = [chunkOf('old', '100:102:100'), chunkOf('new', '200:200:')];
  const applied: unknown[] = [];
  let pauses = 0;
  const finish = async () => undefined;
  const read: WindowRead = { table: TABLE, selection: { kind: 'all' }, last: null, limit: 10, named: null, finish };
  const tables = {
    ...{ isBusy: true, isChanged: false, heldAt: null, ordered: [], sizes: new ChunkSizes() },
    created: { isHeld: () => false },
    next: async () => (chunks.length === 0 ? null : read),
    ...{ following: () => null, release: async () => undefined },
    reader: { readBetween: async () => chunks.shift() },
    apply: async (_: MappedTable, changes: TableChanges) => applied.push(...changes.values()),
  };
  const messages = [100, [101, 'run 1 low'], [102, 'run 1 high'], [103, 'run 2 low'], [104, 'run 2 high']] as const;
  const stream = {
    bufferedBytes: 0,
    acknowledge: () => undefined,
    close: async () => undefined,
    async *[Symbol.asyncIterator]() {
      for (const one of messages) {
        const [xid, mark] = typeof one === 'number' ? [one] : one;
        for (const message of transaction(xid, mark)) yield { type: 'data', lsn: 0n, message } as const;
      }
    },
  };
  const session = new Session(stream, tables as unknown as Tables, {
    ...{ runId: 'run', batchRowsMax: 10, batchBytesMax: 1_000, position: 0n, recentXids: [], nowMs: () => 0 },
    turn: async () => undefined,
    pause: async () => {
      pauses++;
    },
    onLag: () => undefined,
    onRows: () => undefined,
    store: async () => undefined,
  });
  await session.run();
  expect([pauses, applied]).toEqual([1, [{ kind: 'put', row: new Map([['text', 'new']]), isNew: false }]]);
});

it('[PG-298] a transaction that changes any number of rows within a window keeps those of the chunk alone', async () => {
  const narrow = vi.spyOn(Overlay.prototype, 'narrow');
  onTestFinished(() => narrow.mockRestore());
  const applied = new Map<string, unknown>();
  const columns = [{ name: 'id', typeId: 25, typeModifier: -1, isInIdentity: true }];
  const plan = { key: [{ name: 'id', typeId: 25, typeModifier: -1 }], attributes: [], owner: { kind: 'shared' } };
  const table = { kind: 'objects', label: 'visit', plan } as unknown as MappedTable;
  const chunk: Chunk = {
    rows: new Map([['1', new Map([['id', '1']])]]),
    last: ['1'],
    isEnd: true,
    snapshot: Snapshot.parse('99:99:'),
  };
  const read: WindowRead = {
    table,
    selection: { kind: 'all' },
    last: null,
    limit: 10,
    named: null,
    finish: async () => undefined,
  };
  const reads = [read];
  let copied: TableChanges = new Map();
  const tables = {
    ...{ isBusy: true, isChanged: false, heldAt: null, ordered: [table], sizes: new ChunkSizes() },
    ...{ created: { isHeld: () => false }, isUncopied: () => false, find: () => table, tablesOf: async () => [table] },
    next: async () => reads.shift() ?? null,
    ...{ following: () => null, release: async () => undefined },
    reader: { readBetween: async () => chunk },
    apply: async (_: MappedTable, changes: TableChanges, { isCopy }: { isCopy: boolean }) => {
      if (isCopy) copied = changes;
      else for (const [id, change] of changes) applied.set(id, change.kind);
    },
  };
  const relation = {
    type: 'relation',
    relation: { id: 1, schema: 'public', name: 'visit', identity: 'default', columns },
  } as const;
  const changes = Array.from(
    { length: 25_000 },
    (_, n) => ({ type: 'update', relationId: 1, old: null, row: [String(n)] }) as const,
  );
  const gone = { type: 'delete', relationId: 1, old: { kind: 'key', values: ['1'] } } as const;
  const [begin = relation, commit = relation] = transaction(60);
  const messages = [
    ...transaction(50, 'run 1 low'),
    begin,
    relation,
    ...changes,
    gone,
    commit,
    ...transaction(70, 'run 1 high'),
  ];
  const stream = {
    bufferedBytes: 0,
    acknowledge: () => undefined,
    close: async () => undefined,
    async *[Symbol.asyncIterator]() {
      for (const message of messages) yield { type: 'data', lsn: 0n, message } as const;
    },
  };
  await new Session(stream, tables as unknown as Tables, {
    ...{ runId: 'run', batchRowsMax: 1_000, batchBytesMax: 1e9, position: 0n, recentXids: [], nowMs: () => 0 },
    turn: async () => undefined,
    pause: async () => undefined,
    onLag: () => undefined,
    onRows: () => undefined,
    store: async () => undefined,
  }).run();
  expect(narrow.mock.calls).toEqual([[new Set(['1'])]]);
  expect([applied.size, applied.get('1'), applied.get('24999'), copied.size]).toEqual([25_000, 'delete', 'put', 0]);
});
