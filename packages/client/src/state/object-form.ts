import type { SyncSource } from '@tidemark/protocol';
import type { ObjectForm, SourceRow } from './rows.ts';

/** Of which versions objects are that come from the server now. Undefined: the source has no schema. */
export function formOf({ schema }: SyncSource): ObjectForm | undefined {
  if (schema === undefined) return undefined;
  const { version, converting } = schema;
  return { oldest: converting ? version - 1 : version, newest: version };
}

/** Returns the row with the form of objects that are complete now. */
export function withPresentForm(row: SourceRow): SourceRow {
  const form = formOf(row.description);
  if (form?.oldest === row.form?.oldest && form?.newest === row.form?.newest) return row;
  const { form: _, ...rest } = row;
  return form === undefined ? rest : { ...rest, form };
}

/** Does the same where some of the objects are as they were. */
export function withMixedForm(row: SourceRow): SourceRow {
  const next = withPresentForm(row);
  if (next.form === undefined || row.form === undefined) return next;
  return { ...next, form: { ...next.form, oldest: Math.min(next.form.oldest, row.form.oldest) } };
}
