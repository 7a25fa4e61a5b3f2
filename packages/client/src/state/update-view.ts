import type { SourceView } from '../view/source-view.ts';
import { ownersOf } from './group-rows.ts';
import type { Change } from './local-state.ts';
import type { SourceRow, UploadRow } from './rows.ts';
import { sameJson } from './same-json.ts';

/** Updates the view of a source by the changes that concern it. Returns true if the app sees a change. */
export function updateView(view: SourceView, source: string, changes: readonly Change[]): boolean {
  const ids = new Set<string>();
  for (const change of changes) {
    if (concernsAll(source, change)) return view.updateAll();
    addIds(ids, source, change);
  }
  return view.update(ids);
}

/** True for links and declared references, which may concern any object. */
function concernsAll(source: string, { table, key, before, after }: Change): boolean {
  if (table === 'links') return true;
  if (table !== 'sources' || key[0] !== '' || key[1] !== source) return false;
  const referencesOf = (row: unknown) => (row as SourceRow | undefined)?.description.references ?? {};
  return !sameJson(referencesOf(before), referencesOf(after));
}

/** Adds the ids of the objects of the source that the change concerns. */
function addIds(ids: Set<string>, source: string, { table, key, before, after }: Change): void {
  if (table === 'objects') {
    if (key[0] === source || key[0] === ownersOf(source)) ids.add(key[1]);
  } else if (table === 'uploads') {
    for (const row of [before, after] as readonly (UploadRow | undefined)[])
      if (row?.source === source) ids.add(row.id);
  }
}
