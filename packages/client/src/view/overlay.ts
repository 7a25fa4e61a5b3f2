import type { Attributes, UploadRow } from '../state/rows.ts';

/** Returns the object as the app sees it: the state of the server with the local changes applied. */
export function overlay(base: Attributes | undefined, uploads: readonly UploadRow[]): Attributes | undefined {
  let seen = base;
  for (const { op, attributes } of uploads) {
    if (op === 'delete') seen = undefined;
    // If a page brought the created object before its outcome, other devices may have added attributes.
    else if (op === 'create' || seen !== undefined) seen = { ...seen, ...attributes };
  }
  return seen;
}
