import type { TablePlan } from '../mapping/plan.ts';
import { objectId } from '../sql/object-id.ts';
import type { Assignment } from './assignments.ts';
import type { RowChange } from './batch.ts';
import { nameIn, type Row, textsOf } from './row.ts';

/** Everything that is known when the change of one row is decided. */
export interface KnownRow {
  /** The owner before the change; undefined: none is known. */
  readonly before: Assignment | undefined;
  readonly change: RowChange;
  /** Whether all its columns are known. */
  readonly isWhole: boolean;
  /** Looks up where a parent is. */
  readonly parentOf: (id: string) => Assignment | undefined;
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
      /** Null: the row has none any more. */
      readonly assignment: Assignment | null;
      /** The parent that it waits for. */
      readonly orphanOf: string | null;
    };

/** Decides what the change of a row of a user's or a group's table does. */
export function decideRow(plan: TablePlan, { before, change, isWhole, parentOf }: KnownRow): RowVerdict {
  const from = before?.owner ?? null;
  if (change.kind === 'delete') return { kind: 'change', to: null, from, assignment: null, orphanOf: null };
  const assignment = assignmentOf(plan, change.row, before, parentOf);
  const isThere =
    before !== undefined && before.isMissing !== true && before.owner === assignment.owner && !change.isNew;
  if (!isWhole && !isThere && assignment.owner !== null) return { kind: 'read' };
  return {
    kind: 'change',
    to: assignment.owner,
    from: from === assignment.owner ? null : from,
    assignment: { owner: assignment.owner, extra: assignment.extra },
    orphanOf: assignment.orphanOf,
  };
}

interface FoundAssignment extends Assignment {
  readonly orphanOf: string | null;
}

function assignmentOf(
  { owner }: TablePlan,
  row: Row,
  before: Assignment | undefined,
  parentOf: KnownRow['parentOf'],
): FoundAssignment {
  if (owner.kind === 'shared') throw new Error('the rows of a shared table have no assignments');
  if (owner.kind !== 'through') {
    const text = nameIn(row, owner.column);
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
  assignments: ReadonlyMap<string, Assignment>,
): ReadonlySet<string> {
  const ids = new Set<string>();
  if (owner.kind !== 'through') return ids;
  for (const [id, change] of changes) {
    if (change.kind === 'delete') continue;
    const key = textsOf(change.row, owner.columns);
    const parent = key === null ? assignments.get(id)?.extra : objectId(key);
    if (parent !== null && parent !== undefined) ids.add(parent);
  }
  return ids;
}
