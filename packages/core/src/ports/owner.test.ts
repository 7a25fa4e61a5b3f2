import { expect, it } from 'vitest';
import { groupPartition, isSameOwner, oneOf, partitionName, sharedPartition, userPartition } from './owner.ts';

it('[GROUP-86] a user, a group of the same name and everybody are three owners', () => {
  const partitions = [userPartition('Visit', 'north'), groupPartition('Visit', 'north'), sharedPartition('Visit')];
  expect(new Set(partitions.map(partitionName)).size).toBe(3);
  for (const { owner } of partitions) {
    expect(partitions.filter((one) => isSameOwner(one.owner, owner)).length).toBe(1);
    expect(partitions.filter((one) => oneOf([owner])(one.owner)).length).toBe(1);
  }
});
