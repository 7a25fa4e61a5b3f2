import type { Attributes, UploadRow } from '../state/rows.ts';

/** The object as the app sees it: what the server has, with the changes made here laid over it. */
export function overlay(base: Attributes | undefined, uploads: readonly UploadRow[]): Attributes | undefined {
  let seen = base;
  for (const { op, attributes } of uploads) {
    if (op === 'delete') seen = undefined;
    // When a page brought what was created here before its outcome came, others may have added to it meanwhile.
    else if (op === 'create' || seen !== undefined) seen = { ...seen, ...attributes };
  }
  return seen;
}
