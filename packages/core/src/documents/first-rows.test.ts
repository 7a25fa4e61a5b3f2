import { expect, it } from 'vitest';
import { FirstRows } from './first-rows.ts';
import { parseOrder } from './object-order.ts';

it('[LIST-9] a row that is removed makes room for the text of others, and rows behind one that did not fit are left out', () => {
  const { compare } = parseOrder('n', undefined);
  const first = new FirstRows({ compare, rowsMax: 10, unitsMax: 100 });
  const add = (n: number, units: number) => first.add({ key: [1, n, `o${n}`], units });
  const found = () => ({ ids: first.rows.map(({ key }) => key[2]), hasMore: first.hasMore });
  add(1, 60);
  first.remove('o1');
  add(2, 60);
  add(3, 40);
  expect(found()).toEqual({ ids: ['o2', 'o3'], hasMore: false });
  add(4, 60);
  add(5, 1);
  expect(found()).toEqual({ ids: ['o2', 'o3'], hasMore: true });
  first.remove('o3');
  add(5, 1);
  expect(found()).toEqual({ ids: ['o2'], hasMore: true });
});

it('[LIST-6] the next page begins behind the last row of this one, also when a row further back was removed before', () => {
  const { compare } = parseOrder('n', undefined);
  const first = new FirstRows({ compare, rowsMax: 2, unitsMax: 100 });
  const add = (n: number) => first.add({ key: [1, n, `o${n}`], units: 1 });
  expect(first.end).toBe(null);
  for (const n of [10, 30, 40]) add(n);
  first.remove('o30');
  for (const n of [20, 15]) add(n);
  expect([first.rows.map(({ key }) => key[2]), first.end]).toEqual([
    ['o10', 'o15'],
    [1, 15, 'o15'],
  ]);
  first.remove('o15');
  first.remove('o10');
  expect([first.rows, first.hasMore, first.end]).toEqual([[], true, [1, 10, 'o10']]);
  first.clear();
  expect([first.hasMore, first.end]).toEqual([false, null]);
});
