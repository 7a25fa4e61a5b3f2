import type { Page } from '@tidemark/protocol';
import { describe, expect, it } from 'vitest';
import type { LocalRow } from '../ports/local-store.ts';
import { LocalState } from '../state/local-state.ts';
import { applyPage, foldStaged } from './apply-page.ts';
import { newFold } from './fold.ts';

const description = {
  name: 'Order',
  partition_type: 'user',
  sync_type: 'incremental',
  conflicts: 'last_writer',
  read_only: false,
  references: {},
  searchable: false,
} as const;

/** A source at the token `t1` that holds `a` and `b`. */
function holding(staging: { readonly token: string; readonly pages: number } | null = null): LocalState {
  const row = { description, seen: 't1', token: 't1', staging, syncedAtMs: 0, heals: 0 };
  const rows: readonly LocalRow[] = [
    { table: 'sources', key: ['', 'Order'], value: row },
    { table: 'objects', key: ['Order', 'a'], value: { n: 1 } },
    { table: 'objects', key: ['Order', 'b'], value: { n: 1 } },
  ];
  return new LocalState(rows);
}

function take(state: LocalState, token: string | null, page: Page) {
  const tx = state.begin();
  const asked = { source: 'Order', token, settledBefore: 0 };
  const fold = newFold();
  const effect = applyPage(tx, asked, page, { fold, held: null, nowMs: 5, show: 'whole' });
  return { effect, tx, writes: tx.writes() };
}

describe('a page', () => {
  it('[SDK-6] a page requested with another token than the current one is ignored', () => {
    const page: Page = { token: 't2', more: false, size: 0, reset: true };
    for (const token of [null, 't0', 't2']) {
      const { effect, writes } = take(holding(), token, page);
      expect([effect, writes]).toEqual([{ kind: 'ignored' }, []]);
    }
    const { effect, writes } = take(holding({ token: 's', pages: 1 }), 't1', page);
    expect([effect, writes]).toEqual([{ kind: 'ignored' }, []]);
  });

  it('[SDK-6] a page with more to come changes no object, and keeps the token that changes are made with', () => {
    const { effect, tx } = take(holding(), 't1', { token: 't2', more: true, size: 2, patch: { a: { n: 2 } } });
    expect(effect.kind).toBe('staged');
    expect(tx.get('objects', ['Order', 'a'])).toEqual({ n: 1 });
    expect(tx.get('sources', ['', 'Order'])).toMatchObject({
      seen: 't1',
      token: 't1',
      staging: { token: 't2', pages: 1 },
    });
  });

  it('[SDK-7] a page with reset drops what was staged before', () => {
    const state = holding();
    const first = take(state, 't1', { token: 't2', more: true, size: 9, put: { old: { n: 1 } } });
    state.apply(first.writes);
    const second = take(state, 't2', { token: 't3', more: true, size: 1, reset: true, put: { c: { n: 3 } } });
    state.apply(second.writes);
    expect(foldStaged(state, { source: 'Order' })).toEqual({ isFresh: true, objects: new Map([['c', { n: 3 }]]) });
  });

  it('[SDK-8] a page that changes an unknown object makes the source start over, and leaves the view', () => {
    for (const change of [{ patch: { c: { n: 1 } } }, { drop: { c: ['n'] } }]) {
      const { effect, tx } = take(holding(), 't1', { token: 't2', more: false, size: 3, ...change });
      expect(effect.kind).toBe('healed');
      expect([...tx.entries('objects', 'Order')]).toHaveLength(2);
      expect(tx.get('sources', ['', 'Order'])).toMatchObject({ seen: 't1', token: null, staging: null, heals: 1 });
    }
  });
});
