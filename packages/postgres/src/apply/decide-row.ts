import type { TablePlan } from '../mapping/plan.ts';
import { objectId } from '../sql/object-id.ts';
import type { RowChange } from './batch.ts';
import type { Place } from './places.ts';
import { type Row, textsOf } from './row.ts';

/** Everything that is known when the change of one row is decided. */
export interface KnownRow {
  /** Where the row was; undefined: nowhere that is known. */
  readonly before: Place | undefined;
  readonly change: RowChange;
  /** Whether all its columns are known. */
  readonly isWhole: boolean;
  /** Looks up where a parent is. */
  readonly parentOf: (id: string) => Place | undefined;
}

export type RowVerdict =
  /** Nothing can be said before the row is read by its key. */
  | { readonly kind: 'read' }
  | {
      readonly kind: 'change';
      /** Where the object is put; null: nowhere. */
      readonly to: string | null;
      /** Where it is deleted; null: nowhere. */
      readonly from: string | null;
      /** Null: it has none any more. */
      readonly place: Place | null;
      /** The parent that it waits for. */
      readonly orphanOf: string | null;
    };

/** Decides what the change of a row of a user's or a group's table does. */
export function decideRow(plan: TablePlan, { before, change, isWhole, parentOf }: KnownRow): RowVerdict {
  const from = before?.owner ?? null;
  if (change.kind === 'delete') return { kind: 'change', to: null, from, place: null, orphanOf: null };
  const place = placeOf(plan, change.row, before, parentOf);
  const isThere = before !== undefined && before.isMissing !== true && before.owner === place.owner && !change.isNew;
  if (!isWhole && !isThere && place.owner !== null) return { kind: 'read' };
  return {
    kind: 'change',
    to: place.owner,
    from: from === place.owner ? null : from,
    place: { owner: place.owner, extra: place.extra },
    orphanOf: place.orphanOf,
  };
}

interface FoundPlace extends Place {
  readonly orphanOf: string | null;
}

function placeOf(
  { owner }: TablePlan,
  row: Row,
  before: Place | undefined,
  parentOf: KnownRow['parentOf'],
): FoundPlace {
  if (owner.kind === 'shared') throw new Error('the rows of a shared table have no places');
  if (owner.kind !== 'through') {
    const text = row.get(owner.column.name);
    // An empty text is no name.
    return { owner: (text === undefined ? before?.owner : text) || null, extra: null, orphanOf: null };
  }
  const isKnown = owner.columns.every(({ name }) => row.has(name));
  const key = textsOf(row, owner.columns);
  const parent = isKnown ? (key === null ? null : objectId(key)) : (before?.extra ?? null);
  if (parent === null) return { owner: null, extra: null, orphanOf: null };
  const found = parentOf(parent);
  return { owner: found?.owner ?? null, extra: parent, orphanOf: found === undefined ? parent : null };
}

/** The ids of the parents that have to be looked up. */
export function parentIds(
  { owner }: TablePlan,
  changes: Iterable<readonly [string, RowChange]>,
  places: ReadonlyMap<string, Place>,
): ReadonlySet<string> {
  const ids = new Set<string>();
  if (owner.kind !== 'through') return ids;
  for (const [id, change] of changes) {
    if (change.kind === 'delete') continue;
    const key = textsOf(change.row, owner.columns);
    const parent = key === null ? places.get(id)?.extra : objectId(key);
    if (parent !== null && parent !== undefined) ids.add(parent);
  }
  return ids;
}
