import { expect, it } from 'vitest';
import { PRODUCT } from './partitions.ts';
import { Registers } from './registers.ts';

it('[CHAOS-7] a read that returns a part of a batch is reported, and one that returns all or nothing of it is not', () => {
  const registers = new Registers();
  const { ids } = registers.batchOf(PRODUCT);
  const objectsWith = (values: readonly number[]) => Object.fromEntries(values.map((n, index) => [ids[index], { n }]));
  for (const whole of [[], [1, 1, 1, 1, 1]]) registers.recordRead(PRODUCT, objectsWith(whole), 0);
  expect(registers.torn).toEqual([]);
  registers.recordRead(PRODUCT, objectsWith([2, 2, 1, 1, 1]), 0);
  registers.recordRead(PRODUCT, objectsWith([2, 2]), 0);
  expect(registers.torn).toEqual([
    'a batch in Product of everybody was read in part: [2,2,1,1,1]',
    'a batch in Product of everybody was read in part: [2,2,null,null,null]',
  ]);
});
