import type { Outcome } from '@tidemark/protocol';
import { expect, it } from 'vitest';
import { LocalState } from '../state/local-state.ts';
import type { UploadRow } from '../state/rows.ts';
import { settleOutcome } from './settle-outcome.ts';

const update = { source: 'Visit', op: 'update', id: 'x', seen: null, state: 'waiting', settled: null } as const;

/** Two updates of an object, the first of which is in conflict. Returns what is left to upload. */
function leftAfterConflict(first: Partial<UploadRow>, second: Partial<UploadRow>) {
  const tx = new LocalState([]).begin();
  tx.put('uploads', ['', 'a'], { ...update, order: 0, madeAtMs: 0, attributes: { a: 1, b: 1 }, ...first });
  tx.put('uploads', ['', 'b'], { ...update, order: 1, madeAtMs: 0, attributes: { b: 2 }, ...second });
  const { source, id } = update;
  const outcome: Outcome = { op_id: 'a', source, id, status: 'conflict', conflicting: ['a'], current: { a: 3 } };
  settleOutcome(tx, outcome, { nowMs: 0, settled: 0, newOpId: () => 'rest' });
  return [...tx.entries('uploads', '')].map(([opId, { group, attributes }]) => [opId, group, attributes]);
}

it('[UP-18] the rest of an update in conflict leaves out what later uploads of the same object have changed', () => {
  expect(leftAfterConflict({ group: 'north' }, { group: 'north' })).toEqual([['b', 'north', { b: 2 }]]);
});

it('[UP-18] the rest of an update in conflict ignores uploads of an object with the same id in another group', () => {
  expect(leftAfterConflict({ group: 'north' }, { group: 'south' })).toEqual([
    ['b', 'south', { b: 2 }],
    ['rest', 'north', { b: 1 }],
  ]);
  expect(leftAfterConflict({ group: 'north' }, { group: 'south', op: 'delete', attributes: null })).toEqual([
    ['b', 'south', null],
    ['rest', 'north', { b: 1 }],
  ]);
});
