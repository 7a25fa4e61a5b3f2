import { expect, it } from 'vitest';
import { isSameHead, isSameState, type PartitionState } from './partition.ts';

const STATE: PartitionState = { epoch: 'e1', head: 7, floor: 3, size: 2, checksum: 9 };

it('a write and another epoch change the objects of a partition, a trim changes only its floor', () => {
  const others = [{ ...STATE }, { ...STATE, head: 8 }, { ...STATE, epoch: 'e2' }, { ...STATE, floor: 7 }];
  expect(others.map((other) => [isSameHead(STATE, other), isSameState(STATE, other)])).toEqual([
    [true, true],
    [false, false],
    [false, false],
    [true, false],
  ]);
});
