import { expect, it } from 'vitest';
import { LocalState, type Transaction } from '../state/local-state.ts';
import type { SourceRow } from '../state/rows.ts';
import { SetTokens } from './set-tokens.ts';

const description = {
  name: 'Visit',
  partition_type: 'group',
  sync_type: 'incremental',
  conflicts: 'last_writer',
  read_only: false,
  references: {},
  searchable: false,
} as const;

const complete: SourceRow = { description, seen: 't', token: 't', staging: null, syncedAtMs: 0, heals: 0 };

/** The device holds the groups `north` and `south`, the latter as given. */
function holding(south: Partial<SourceRow>): Transaction {
  const tx = new LocalState([]).begin();
  tx.put('sources', ['Visit', 'north'], complete);
  tx.put('sources', ['Visit', 'south'], { ...complete, ...south });
  return tx;
}

it('[GROUP-28] a set token stands for groups that are complete, and not for one that starts over or catches up', () => {
  const sets = new SetTokens();
  expect(sets.presented(holding({}), 'Visit')).toEqual({
    groups: { north: { token: 't' }, south: { token: 't' } },
    set_token: null,
  });
  sets.take('Visit', { groups: {}, set_token: 'set', more: false });
  const presented = (south: Partial<SourceRow>) => sets.presented(holding(south), 'Visit');
  expect(presented({})).toEqual({ groups: {}, set_token: 'set' });
  expect(presented({ token: null })).toEqual({ groups: { south: {} }, set_token: 'set' });
  expect(presented({ staging: { token: 's', pages: 1 } })).toEqual({
    groups: { south: { token: 's' } },
    set_token: 'set',
  });
});

it('[SDK-30] an answer is news to the set token if the device presents something else after it', () => {
  const sets = new SetTokens();
  const nothing = { groups: {}, more: true };
  expect(sets.hasNews('Visit', nothing)).toBe(false);
  expect(sets.hasNews('Visit', { ...nothing, set_token: null })).toBe(false);
  expect(sets.hasNews('Visit', { ...nothing, changed: ['north'] })).toBe(false);
  expect(sets.hasNews('Visit', { ...nothing, set_token: 'set' })).toBe(true);
  sets.take('Visit', { ...nothing, set_token: 'set' });
  expect(sets.hasNews('Visit', { ...nothing, set_token: 'set' })).toBe(false);
  expect(sets.hasNews('Visit', { ...nothing, set_token: null })).toBe(true);
  expect(sets.hasNews('Visit', { ...nothing, changed: ['north'] })).toBe(true);
  sets.take('Visit', { ...nothing, changed: ['north'] });
  expect(sets.hasNews('Visit', { ...nothing, changed: ['north'] })).toBe(false);
});
