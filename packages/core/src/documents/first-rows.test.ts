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
