import { expect, it } from 'vitest';
import { LocalState } from '../state/local-state.ts';
import type { UploadRow } from '../state/rows.ts';
import { addUpload } from './merge-upload.ts';

const waiting = { source: 'Visit', op: 'update', id: 'x', state: 'waiting', settled: null, madeAtMs: 0 } as const;

/** Adds two updates of one object, one after the other, and returns the attributes of each upload that is left. */
function added(conflicts: 'detect' | 'last_writer', first: Partial<UploadRow>, second: Partial<UploadRow>) {
  const description = {
    ...({ name: 'Visit', partition_type: 'group', sync_type: 'incremental', conflicts } as const),
    ...{ read_only: false, references: {}, searchable: false },
  };
  const row = { description, seen: null, token: null, staging: null, syncedAtMs: 0, heals: 0 };
  const tx = new LocalState([{ table: 'sources', key: ['', 'Visit'], value: row }]).begin();
  const tail = addUpload(tx, null, 'a', { ...waiting, order: 0, seen: null, attributes: { a: 1 }, ...first });
  addUpload(tx, tail, 'b', { ...waiting, order: 1, seen: null, attributes: { b: 2 }, ...second });
  return [...tx.entries('uploads', '')].map(([, { attributes }]) => attributes);
}

const merged = [{ a: 1, b: 2 }];
const apart = [{ a: 1 }, { b: 2 }];

it('[UP-16] updates made on two states of an object are merged unless conflicts are detected', () => {
  expect(added('last_writer', { seen: 't1' }, { seen: 't2' })).toEqual(merged);
  expect(added('detect', { seen: 't1' }, { seen: 't1' })).toEqual(merged);
  expect(added('detect', { seen: 't1' }, { seen: 't2' })).toEqual(apart);
});

it('[UP-16] updates of objects with the same id in two groups are not merged', () => {
  expect(added('last_writer', { group: 'north' }, { group: 'north' })).toEqual(merged);
  expect(added('last_writer', { group: 'north' }, { group: 'south' })).toEqual(apart);
  expect(added('last_writer', { group: 'north' }, {})).toEqual(apart);
});
