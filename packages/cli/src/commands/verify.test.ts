import type { Finding } from '@tidemark/core';
import { expect, it } from 'vitest';
import { rowOf, shown } from './verify.ts';

const rest = { problem: 'wrong_size', detail: 'it is not' } as const;
const found = (user: string | null): Finding => ({ partition: { source: 'Order', user }, ...rest });

it('[CLI-24] verify shows a custom partition by its name, not by its internal key', () => {
  expect(shown(found('\u001fnorth')).partition).toEqual({ source: 'Order', user: null, name: 'north' });
  expect(rowOf(found('\u001fnorth'))).toEqual({ source: 'Order', user: null, partition: 'north', ...rest });
  expect(shown(found('ann'))).toEqual(found('ann'));
  expect(rowOf(found('ann'))).toEqual({ source: 'Order', user: 'ann', partition: null, ...rest });
  expect(rowOf(found(null))).toEqual({ source: 'Order', user: null, partition: null, ...rest });
  expect(rowOf({ partition: null, ...rest })).toEqual({ source: null, user: null, partition: null, ...rest });
});
