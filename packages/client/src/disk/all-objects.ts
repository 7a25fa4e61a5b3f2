import type { Attributes } from '../state/rows.ts';
import type { SyncedObject } from '../view/source-view.ts';
import type { ChangedHere } from './changes.ts';
import type { ObjectsOnDisk } from './disk-in-version.ts';
import { pagesOf } from './selection.ts';

interface WholeView {
  readonly source: string;
  readonly disk: ObjectsOnDisk;
  readonly isHidden: boolean;
  changedHere(): readonly ChangedHere[];
  /** Returns stored objects as the app sees them without the changes made here. */
  shown(objects: readonly (readonly [id: string, stored: Attributes])[]): Promise<readonly SyncedObject[]>;
}

/** Yields all objects of a source on the disk as the app sees them, in parts that need not be in memory at once. */
export async function* partsOf(view: WholeView): AsyncGenerator<readonly SyncedObject[]> {
  const changedHere = new Map(view.changedHere().map(({ id, object }) => [id, object]));
  yield [...changedHere.values()].flatMap((object) => object ?? []);
  if (view.isHidden) return;
  const byId = { source: view.source, path: null, range: null, isDescending: false };
  for await (const page of pagesOf(view.disk, byId, { skip: 0, take: Number.POSITIVE_INFINITY })) {
    const others = page.filter(([id]) => !changedHere.has(id));
    yield await view.shown(others.map(([id, stored]) => [id, stored as Attributes]));
  }
}

/** Returns how many objects of a source on the disk the app sees. */
export async function sizeOf(view: WholeView): Promise<number> {
  const all = { first: view.source, path: null, range: null };
  const stored = view.isHidden ? 0 : await view.disk.count(all, Number.POSITIVE_INFINITY);
  const isOne = (value: unknown) => Number(value !== undefined);
  return view.changedHere().reduce((sum, one) => sum + isOne(one.object) - isOne(one.stored), stored);
}
