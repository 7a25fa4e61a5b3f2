import type { ObjectsChange } from '../admission/admit-write.ts';
import type { ObjectTexts } from '../admission/admitted.ts';
import type { WriteCheck } from '../admission/schema-check.ts';
import { AttributeTexts } from '../journal/attribute-texts.ts';
import { changedRecord, newRecord, type ObjectChange, ObjectRecord } from '../journal/record.ts';
import type { Pace } from '../ports/pace.ts';
import type { Change, StoredObject } from '../ports/store.ts';
import { WorkBudget } from '../primitives/work-budget.ts';
import { deleted, merged, replaced, updated, type Verdict } from './verdicts.ts';

/** Changes that affect each object on its own. `Replacement` handles whole documents. */
export type PointChange = Exclude<ObjectsChange, { readonly op: 'replace' | 'fast_insert' }>;

const NO_ATTRIBUTES = AttributeTexts.of([]);

export function idsOf(change: PointChange): readonly string[] {
  switch (change.op) {
    case 'push_objects':
      return [...change.objects.keys(), ...(change.deletes ?? [])];
    case 'push_deletes':
      return [...change.ids];
    case 'fast_update':
      return [...new Set([...change.remove.keys(), ...change.put.keys()])];
    case 'fast_delete':
      return [...change.remove.keys()];
  }
}

/** Returns the change to one object; null when the object stays as it is. */
export function effectOn(
  change: PointChange,
  id: string,
  stored: StoredObject | undefined,
  { floor, check }: { readonly floor: number; readonly check?: WriteCheck | undefined },
): ObjectChange | null {
  const current = liveRecord(stored);
  const verdict = verdictOn(change, id, current?.attributes ?? null);
  if (verdict !== null && verdict !== 'gone') check?.checkResult(id, verdict);
  return changeOf(id, { stored, current }, verdict, floor);
}

/** An object as it was read: `current` is the record in `stored`, null when there is none. */
export interface FoundObject {
  readonly stored: StoredObject | undefined;
  readonly current: ObjectRecord | null;
  /** What a conversion carries over: see `Marks`. */
  readonly carried?: ReadonlyMap<string, number>;
}

/** Returns a verdict as a change for the store, which expects the object at the seq at which it was read. */
export function changeOf(
  id: string,
  { stored, current, carried }: FoundObject,
  verdict: Verdict,
  floor: number,
): ObjectChange | null {
  if (verdict === null) return null;
  const expect = stored?.seq ?? 0;
  if (verdict === 'gone') return { id, record: null, checksum: 0, expect };
  const next = current === null ? newRecord(id, verdict) : changedRecord(current, verdict, floor, carried);
  if (next.files !== undefined) return { id, ...next, expect };
  return { id, record: next.record, checksum: next.checksum, expect };
}

export function liveRecord(stored: StoredObject | undefined): ObjectRecord | null {
  return stored === undefined || stored.record === null ? null : new ObjectRecord(stored.record, stored.seq);
}

/** fast_insert: replaces objects without reading the stored ones. An object without attributes is left out. */
export function* insertions(objects: ObjectTexts): Iterable<ObjectChange> {
  for (const [id, attributes] of objects) {
    if (!attributes.isEmpty) yield { id, ...newRecord(id, attributes) };
  }
}

function verdictOn(change: PointChange, id: string, current: AttributeTexts | null): Verdict {
  switch (change.op) {
    case 'push_objects':
      return pushed(change, id, current);
    case 'push_deletes':
      return deleted(current);
    case 'fast_update':
      return updated(current, change.remove.get(id) ?? NO_ATTRIBUTES, change.put.get(id) ?? NO_ATTRIBUTES);
    case 'fast_delete':
      return updated(current, change.remove.get(id) ?? NO_ATTRIBUTES, NO_ATTRIBUTES);
  }
}

function pushed(
  { objects, deletes, isWhole = false }: Extract<PointChange, { readonly op: 'push_objects' }>,
  id: string,
  current: AttributeTexts | null,
): Verdict {
  if (deletes?.has(id)) return deleted(current);
  const given = objects.get(id) ?? NO_ATTRIBUTES;
  return isWhole ? replaced(current, given) : merged(current, given);
}

/** Collects the changes, with pauses for other work. */
export async function gatherPaced(changes: Iterable<ObjectChange>, pace: Pace): Promise<readonly ObjectChange[]> {
  const gathered: ObjectChange[] = [];
  const budget = new WorkBudget();
  for (const change of changes) {
    gathered.push(change);
    if (budget.isSpent(weightOf(change))) await pace.turn();
  }
  return gathered;
}

/** Returns the work of making a change, in characters. */
export function weightOf(change: Change | null): number {
  return change?.record?.length ?? 0;
}
