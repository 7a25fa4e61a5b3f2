import { expect, it } from 'vitest';
import { NamesOnDisk } from '../disk/names-on-disk.ts';
import type { DiskPart } from '../ports/local-store.ts';
import { asideOf, ownersOf, rowsOf } from '../state/group-rows.ts';
import { LocalState } from '../state/local-state.ts';
import { applySources } from './apply-sources.ts';

it('[DISK-6] of a source that the server has removed nothing stays on the disk, also if it was starting over', () => {
  const row = { description: { name: 'Part' }, seen: 'a', token: null, staging: null, syncedAtMs: 1, heals: 0 };
  const state = new LocalState([
    { table: 'sources', key: ['', 'Part'], value: row },
    { table: 'sources', key: ['Part', 'north'], value: row },
  ]);
  const names = new NamesOnDisk(() => ({}) as DiskPart);
  names.add('Part');
  state.onDisk = names;
  const tx = state.begin();
  applySources(tx, []);
  const places = [rowsOf({ source: 'Part', group: 'north' }), ownersOf('Part'), asideOf('Part'), 'Part'];
  expect(tx.disk?.changes?.drops).toEqual(places);
});
