import { sameJson } from '@tidemark/protocol';
import { ownersOf } from '../state/group-rows.ts';
import type { Change } from '../state/local-state.ts';
import type { Attributes, SourceRow, UploadRow } from '../state/rows.ts';
import { referencesOf } from '../uploads/links.ts';
import type { SyncedObject } from '../view/source-view.ts';

/** An object as it is stored, before and after a commit. */
export interface StoredChange {
  readonly id: string;
  readonly before: Attributes | undefined;
  readonly after: Attributes | undefined;
  /** As the app sees it without the changes made here. */
  readonly object: SyncedObject | undefined;
}

/** An object with changes made here. */
export interface ChangedHere {
  readonly id: string;
  /** Without the changes. */
  readonly stored: Attributes | undefined;
  readonly object: SyncedObject | undefined;
}

/** Finds the changes of a source's objects. Null: only the groups that have the object have changed. */
export function objectChanges(source: string, changes: readonly Change[]): ReadonlyMap<string, Change | null> {
  const owners = ownersOf(source);
  const objects = new Map<string, Change | null>();
  for (const change of changes) {
    const [first, id] = change.key;
    if (change.table !== 'objects') continue;
    if (first === source) objects.set(id, change);
    else if (first === owners && !objects.has(id)) objects.set(id, null);
  }
  return objects;
}

/** The ids of the source's objects whose changes made here are others than before. */
export function idsOfUploads(source: string, changes: readonly Change[]): readonly string[] {
  return changes.flatMap(({ table, before, after }) => {
    const rows = table === 'uploads' ? ([before, after] as readonly (UploadRow | undefined)[]) : [];
    return rows.flatMap((row) => (row?.source === source ? [row.id] : []));
  });
}

/** Finds the creation of an object among changes made here. */
export function findCreate(source: string, id: string, changes: readonly Change[]): Change | undefined {
  return changes.find(({ table, after }) => {
    const row = table === 'uploads' ? (after as UploadRow | undefined) : undefined;
    return row?.op === 'create' && row.source === source && row.id === id;
  });
}

/** True for links, declared references and versions, which may concern any object, and for what hides all or shows them. */
export function concernsAll(source: string, change: Change): boolean {
  if (change.table === 'links') return true;
  if (!isOfRow(source, change)) return false;
  const [old, row] = [change.before, change.after] as readonly (SourceRow | undefined)[];
  return (
    isHidden(old) !== isHidden(row) || !sameJson(referencesOf(old), referencesOf(row)) || isOtherVersion(source, change)
  );
}

/** True if stored objects mean something else to the app than before. */
export function isOtherVersion(source: string, change: Change): boolean {
  if (!isOfRow(source, change)) return false;
  const [old, row] = [change.before, change.after] as readonly (SourceRow | undefined)[];
  return !sameJson(versionsIn(old), versionsIn(row));
}

function versionsIn(row: SourceRow | undefined) {
  const { description, form } = row ?? {};
  return [description?.schema ?? null, form === undefined ? null : { ...form }];
}

/** True if the app did not see the source before the change. */
export function wasHidden(source: string, change: Change): boolean {
  return isOfRow(source, change) && isHidden(change.before as SourceRow | undefined);
}

/** True during a first sync that the app is to see when it is complete. */
export function isHidden(row: SourceRow | undefined): boolean {
  return row?.staging?.firstSync === 'hidden';
}

function isOfRow(source: string, { table, key }: Change): boolean {
  return table === 'sources' && key[0] === '' && key[1] === source;
}
