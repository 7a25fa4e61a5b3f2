import { expect, it } from 'vitest';
import { withMixedForm, withPresentForm } from './object-form.ts';
import type { SourceRow } from './rows.ts';

/** A source whose server has a version, and whose objects the device holds in another one. */
function rowOf(version: number, converting: boolean, form?: SourceRow['form']): SourceRow {
  const schema = { version, steps: [], oldest_version: 1, converting };
  const description = { name: 'Task', partition_type: 'group', schema } as unknown as SourceRow['description'];
  return { description, seen: null, token: null, staging: null, syncedAtMs: null, heals: 0, ...(form && { form }) };
}

it('[VERSION-18] objects that are complete are of the version of the server, and of the one before while it converts them', () => {
  expect(withPresentForm(rowOf(3, false)).form).toEqual({ oldest: 3, newest: 3 });
  expect(withPresentForm(rowOf(3, true, { oldest: 1, newest: 1 })).form).toEqual({ oldest: 2, newest: 3 });
  const row = rowOf(3, false, { oldest: 3, newest: 3 });
  expect(withPresentForm(row)).toBe(row);
});

it('[VERSION-18] where some groups did not come, objects may be as old as before', () => {
  expect(withMixedForm(rowOf(3, false, { oldest: 1, newest: 2 })).form).toEqual({ oldest: 1, newest: 3 });
  expect(withMixedForm(rowOf(3, true, { oldest: 3, newest: 3 })).form).toEqual({ oldest: 2, newest: 3 });
  expect(withMixedForm(rowOf(3, false)).form).toEqual({ oldest: 3, newest: 3 });
});
