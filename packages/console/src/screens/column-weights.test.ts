import { expect, it } from 'vitest';
import { addWeights, attributesIn } from './column-weights.ts';

const row = (id: string, attributes: Readonly<Record<string, string | number>>) => ({ id, attributes });

it('[CONSOLE-141] a column is as wide as its longest value needs, within bounds, and keeps its width while rows are read', () => {
  const rows = [row('b1', { n: 7, name: 'x'.repeat(26) }), undefined, row('b-0000000000', { note: 'x'.repeat(200) })];
  const first = addWeights(new Map(), rows);
  const expected = [
    ['*id', 15 / 13],
    ['n', 0.75],
    ['name', 2],
    ['note', 2.5],
  ];
  expect([...first]).toEqual(expected);
  const next = addWeights(first, [
    row('b'.repeat(30), { n: 1_000_000_000_000, depth: 4, 'a title of 26 characters..': 1 }),
  ]);
  expect([...next]).toEqual([...expected, ['depth', 0.75], ['a title of 26 characters..', 2]]);
  expect(attributesIn(next)).toEqual(['n', 'name', 'note', 'depth', 'a title of 26 characters..']);
});
