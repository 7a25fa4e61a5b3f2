import { sameJson } from '@tidemark/protocol';
import type { RowsRead } from '../state/disk-work.ts';
import { groupsHeld, groupsWith, ownersOf, rowKey, rowsOf } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';

/** The objects of each group that have changed or are gone; null: any. */
export type ChangedByGroup = ReadonlyMap<string, Iterable<string> | null>;

/**
 * Brings the objects of a source up to date with those of its groups. An object is there while one group has it. If
 * several have it, the attributes are those of the group whose name sorts first.
 */
export function updateUnion(tx: Transaction, source: string, changed: ChangedByGroup): void {
  if ([...changed.values()].includes(null)) {
    rebuildUnion(tx, source);
    return;
  }
  for (const [group, ids] of changed) {
    for (const id of ids ?? []) {
      const others = groupsWith(tx, source, id).filter((one) => one !== group);
      const isHeld = tx.get('objects', [rowsOf({ source, group }), id]) !== undefined;
      writeUnion(tx, source, id, isHeld ? [...others, group].sort() : others);
    }
  }
}

/** Does the same for all objects, after a catch-up of several answers. */
export function rebuildUnion(tx: Transaction, source: string): void {
  const held = [...groupsHeld(tx, source)].sort();
  if (tx.isOnDisk('objects', source)) {
    const groups = held.map((group) => [group, rowsOf({ source, group })] as const);
    tx.disk?.unite({ first: source, owners: ownersOf(source), groups });
    return;
  }
  const owners = new Map<string, string[]>();
  for (const group of held) {
    for (const [id] of tx.entries('objects', rowsOf({ source, group }))) {
      owners.set(id, [...(owners.get(id) ?? []), group]);
    }
  }
  const before = [...tx.entries('objects', ownersOf(source))].map(([id]) => id);
  for (const id of before) if (!owners.has(id)) writeUnion(tx, source, id, []);
  for (const [id, groups] of owners) writeUnion(tx, source, id, groups);
}

function writeUnion(tx: Transaction, source: string, id: string, groups: readonly string[]): void {
  const [first] = groups;
  if (first === undefined) {
    tx.delete('objects', [ownersOf(source), id]);
    tx.delete('objects', [source, id]);
    return;
  }
  if (!sameJson(groupsWith(tx, source, id), groups)) {
    tx.put('objects', [ownersOf(source), id], { groups: [...groups] });
  }
  const attributes = tx.get('objects', [rowsOf({ source, group: first }), id]);
  if (attributes !== undefined && tx.get('objects', [source, id]) !== attributes) {
    tx.put('objects', [source, id], attributes);
  }
}

/** Reads what `updateUnion` looks at. */
export async function readForUnion(
  rows: RowsRead,
  source: string,
  changed: ReadonlyMap<string, readonly string[]>,
): Promise<void> {
  const owners = ownersOf(source);
  const ids = [...new Set([...changed.values()].flat())];
  await rows.read(ids.map((id) => [owners, id]));
  await rows.read(ids.map((id) => [source, id]));
  const held = ids.flatMap((id) => {
    const { groups = [] } = (rows.get([owners, id]) ?? {}) as { readonly groups?: readonly string[] };
    return groups.map((group) => [rowsOf({ source, group }), id] as const);
  });
  const own = [...changed].flatMap(([group, some]) => some.map((id) => [rowsOf({ source, group }), id] as const));
  await rows.read([...held, ...own]);
}

/** Removes everything that a group gave, except what the union shows. Returns the ids of its objects; null: they are not known. */
export function dropGroup(tx: Transaction, source: string, group: string): readonly string[] | null {
  const rows = rowsOf({ source, group });
  tx.drop('staged', rows);
  tx.delete('sources', rowKey({ source, group }));
  return tx.drop('objects', rows);
}
