import { describe, expect, it } from 'vitest';
import { forEachAtOnce } from './at-once.ts';
import { type Owned, parcelsOf } from './parcels.ts';

function owned(owner: string, rows: number, bytes = rows): Owned {
  return { owner, objects: new Map(Array.from({ length: rows }, (_, n) => [`${n}`, {}])), deletes: new Set(), bytes };
}

const ownersOf = (all: readonly Owned[]) => [...parcelsOf(all)].map((parcel) => parcel.map(({ owner }) => owner));

describe('rows of several owners', () => {
  it('[PG-345] go in one call up to 2,000 rows, 500 owners and a megabyte, and the rows of one owner are in one call', () => {
    expect(ownersOf([])).toEqual([]);
    expect(ownersOf([owned('a', 1_000), owned('b', 1_000), owned('c', 1)])).toEqual([['a', 'b'], ['c']]);
    expect(ownersOf([owned('a', 10), owned('b', 9_000), owned('c', 1)])).toEqual([['a'], ['b'], ['c']]);
    expect(ownersOf([owned('a', 1, 600_000), owned('b', 1, 500_000)])).toEqual([['a'], ['b']]);
    const many = Array.from({ length: 501 }, (_, n) => owned(`${n}`, 1));
    expect(ownersOf(many).map(({ length }) => length)).toEqual([500, 1]);
  });

  it('[PG-346] after a call that fails no other is begun, and the failure is told when those under way have ended', async () => {
    const begun: number[] = [];
    const ended: number[] = [];
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const work = async (n: number) => {
      begun.push(n);
      if (n === 1) throw new Error('the first failure');
      await held;
      ended.push(n);
    };
    const failed = forEachAtOnce([0, 1, 2, 3, 4], 3, work).then(
      () => 'nothing failed',
      (error: Error) => `${error.message}, behind ${ended.length}`,
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(begun).toEqual([0, 1, 2]);
    release();
    expect(await failed).toBe('the first failure, behind 2');
    expect(begun).toEqual([0, 1, 2]);
  });
});
