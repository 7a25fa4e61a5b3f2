import type { Finding } from '@tidemark/core';
import { groupPartition, type PartitionKey, sharedPartition, userPartition } from '@tidemark/core';
import { expect, it } from 'vitest';
import { rowOf, shown } from './verify.ts';

const rest = { problem: 'wrong_size', detail: 'it is not' } as const;
const found = (partition: PartitionKey): Finding => ({ partition, ...rest });
const NORTH = groupPartition('Order', 'north');
const ANN = userPartition('Order', 'ann');

it('[CLI-24] verify shows a custom partition by its name, not by its internal key', () => {
  expect(shown(found(NORTH)).partition).toEqual({ source: 'Order', user: null, name: 'north' });
  expect(rowOf(found(NORTH))).toEqual({ source: 'Order', user: null, partition: 'north', ...rest });
  expect(shown(found(ANN)).partition).toEqual({ source: 'Order', user: 'ann' });
  expect(rowOf(found(ANN))).toEqual({ source: 'Order', user: 'ann', partition: null, ...rest });
  expect(rowOf(found(sharedPartition('Order')))).toEqual({ source: 'Order', user: null, partition: null, ...rest });
  expect(rowOf({ partition: null, ...rest })).toEqual({ source: null, user: null, partition: null, ...rest });
});
