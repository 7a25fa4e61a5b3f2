import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Row } from '../apply/row.ts';
import { Overlay } from './overlay.ts';
import { RecentTransactions } from './recent-transactions.ts';
import { Snapshot } from './snapshot.ts';

/** A change within a transaction. `large` is stored out of line, so that an update sends it only when it changes. */
type Change =
  | { readonly op: 'insert'; readonly id: string; readonly small: string; readonly large: string }
  | { readonly op: 'update'; readonly id: string; readonly small: string; readonly large?: string }
  | { readonly op: 'rename'; readonly id: string; readonly to: string; readonly small: string }
  | { readonly op: 'delete'; readonly id: string }
  | { readonly op: 'truncate' };

type Table = ReadonlyMap<string, Row>;

const IDS = ['a', 'b', 'c', 'd'];
const id = fc.constantFrom(...IDS);
const value = fc.constantFrom('1', '2', '3');
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({ op: fc.constant('insert' as const), id, small: value, large: value }),
  fc.record({ op: fc.constant('update' as const), id, small: value }),
  fc.record({ op: fc.constant('update' as const), id, small: value, large: value }),
  fc.record({ op: fc.constant('rename' as const), id, to: id, small: value }),
  fc.record({ op: fc.constant('delete' as const), id }),
  fc.record({ op: fc.constant('truncate' as const) }),
);

/** Null: the table does not allow the change as it is, so that it does not happen. */
function changed(table: Table, change: Change): Table | null {
  const next = new Map(table);
  if (change.op === 'truncate') return new Map();
  const row = table.get(change.id);
  if ((change.op === 'insert') === (row !== undefined)) return null;
  if (change.op === 'rename') {
    if (table.has(change.to) && change.to !== change.id) return null;
    next.delete(change.id);
    return next.set(change.to, new Map([...(row ?? []), ['small', change.small]]));
  }
  if (change.op === 'delete') next.delete(change.id);
  else next.set(change.id, new Map([...(row ?? []), ...sentBy(change)]));
  return next;
}

/** The columns that the stream brings. */
function sentBy(change: Extract<Change, { op: 'insert' | 'update' }>): Row {
  const large = change.large === undefined ? [] : ([['large', change.large]] as const);
  return new Map([['small', change.small], ...large]);
}

function stream(overlay: Overlay, change: Change): void {
  if (change.op === 'truncate') overlay.truncate();
  else if (change.op === 'delete') overlay.delete(change.id);
  else if (change.op === 'insert') overlay.insert(change.id, sentBy(change));
  else if (change.op === 'update') overlay.update(change.id, sentBy(change));
  else if (change.id === change.to) overlay.update(change.id, new Map([['small', change.small]]));
  else {
    overlay.delete(change.id);
    overlay.insert(change.to, new Map([['small', change.small]]));
  }
}

function touched(change: Change): readonly string[] {
  if (change.op === 'truncate') return IDS;
  return change.op === 'rename' ? [change.id, change.to] : [change.id];
}

/** A history: what happened before the first mark, and between both. Transactions have one change each. */
interface History {
  readonly before: readonly Change[];
  readonly between: readonly Change[];
}

/** Leaves out what the table does not allow. */
function performed({ before, between }: History): History {
  let table: Table = new Map();
  const keep = (one: Change) => {
    const next = changed(table, one);
    if (next !== null) table = next;
    return next !== null;
  };
  return { before: before.filter(keep), between: between.filter(keep) };
}

function tableAfter(changes: readonly Change[]): Table {
  return changes.reduce<Table>((table, one) => changed(table, one) ?? table, new Map());
}

/** Those of `changes` that a snapshot sees: a row is changed again only after everybody sees its change before. */
function visible(changes: readonly Change[], isSeen: (index: number) => boolean): readonly Change[] {
  const unseen = new Set<string>();
  return changes.filter((one, index) => {
    const waits = touched(one).some((name) => unseen.has(name));
    if (isSeen(index) && !waits) return true;
    for (const name of touched(one)) unseen.add(name);
    return false;
  });
}

/** Columns that are not known are not compared; a row that lacks one is read by its key afterwards. */
function agrees(found: ReadonlyMap<string, Row>, truth: Table): boolean {
  return (
    found.size === truth.size &&
    [...found].every(([name, row]) => [...row].every(([column, text]) => truth.get(name)?.get(column) === text))
  );
}

describe('chunks between marks', () => {
  it('[PG-83] the changes between two marks laid over any chunk read between them give the rows at the second mark', () => {
    const history = fc.record({
      before: fc.array(change, { maxLength: 8 }),
      between: fc.array(change, { maxLength: 8 }),
    });
    fc.assert(
      fc.property(history, fc.array(fc.boolean(), { minLength: 8, maxLength: 8 }), (drawn, seen) => {
        const { before, between } = performed(drawn);
        const read = tableAfter([...before, ...visible(between, (index) => seen[index] ?? true)]);
        const overlay = new Overlay();
        for (const one of between) stream(overlay, one);
        const truth = tableAfter([...before, ...between]);
        const { rows, gone } = overlay.close(read, IDS);
        expect(agrees(rows, truth)).toBe(true);
        expect([...gone].sort()).toEqual(IDS.filter((name) => !truth.has(name)));
        // A range of rows has those that were read; others were streamed.
        const inRange = overlay.close(read).rows;
        expect(agrees(inRange, new Map([...truth].filter(([name]) => read.has(name))))).toBe(true);
        // A column is unknown only in a row that got its key between the marks.
        const renamed = new Set(between.flatMap((one) => (one.op === 'rename' ? [one.to] : [])));
        for (const [name, row] of rows) expect(row.has('large') || renamed.has(name)).toBe(true);
      }),
      { numRuns: 2_000 },
    );
  });

  it('[PG-84] a chunk that does not see a transaction before its first mark would bring an old row back', () => {
    const [insert, update] = [
      { op: 'insert', id: 'a', small: '1', large: '1' },
      { op: 'update', id: 'a', small: '2' },
    ] as const;
    const unseen = tableAfter([insert]);
    expect(agrees(new Overlay().close(unseen).rows, tableAfter([insert, update]))).toBe(false);
    const recent = new RecentTransactions();
    recent.add(100);
    recent.add(102);
    const sees = (text: string) => recent.list().every((xid) => Snapshot.parse(text).sees(xid));
    expect([sees('103:103:'), sees('102:104:102'), sees('101:102:'), sees('100:104:100,103')]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    recent.forget(Snapshot.parse('101:104:101'));
    expect(recent.list()).toEqual([]);
  });

  it('[PG-299] no transaction is forgotten before a snapshot has seen it, however many came after it', () => {
    const recent = new RecentTransactions([7]);
    for (let xid = 100; xid < 30_100; xid++) {
      recent.add(xid);
      if (recent.isLong) recent.forget(Snapshot.parse(`7:${xid}:7`));
      expect(recent.list().length).toBeLessThan(1_010);
    }
    expect(recent.list()[0]).toBe(7);
  });

  it('[PG-298] changes of rows that the chunk does not have are not kept', () => {
    const overlay = new Overlay();
    const row = (text: string) => new Map([['text', text]]);
    for (let n = 0; !overlay.isFull; n++) overlay.update(`row ${n}`, row('first'));
    expect(overlay.size).toBe(10_000);
    overlay.narrow(new Set(['row 1', 'row 2', 'late']));
    for (let n = 0; n < 20_000; n++) overlay.update(`row ${n}`, row('second'));
    overlay.delete('row 2');
    expect([overlay.isFull, overlay.size]).toEqual([false, 2]);
    const chunk = new Map(['row 1', 'row 2', 'late'].map((id) => [id, row('read')] as const));
    expect([...overlay.close(chunk).rows]).toEqual([
      ['row 1', row('second')],
      ['late', row('read')],
    ]);
    const wide = new Overlay();
    for (let n = 0; n < 2; n++) wide.update(`row ${n}`, row('x'.repeat(5_000_000)));
    expect(wide.isFull).toBe(true);
  });

  it('[PG-84] transaction numbers of the stream have 32 bits, and are compared with those of snapshots that have 64', () => {
    const epoch = 5n * 2n ** 32n;
    const text = `${epoch + 10n}:${epoch + 20n}:${epoch + 12n}`;
    const snapshot = Snapshot.parse(text);
    const [below, running, ended, next] = [9, 12, 13, 20].map((xid) => snapshot.sees(xid));
    expect([below, running, ended, next]).toEqual([true, false, true, false]);
    // The last of the epoch before.
    expect(snapshot.sees(2 ** 32 - 1)).toBe(true);
    expect(Snapshot.parse(`${epoch - 5n}:${epoch - 3n}:`).sees(2)).toBe(false);
    expect(() => Snapshot.parse('x')).toThrow('is no snapshot of Postgres');
  });
});
