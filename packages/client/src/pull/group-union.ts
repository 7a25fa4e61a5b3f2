import { groupsHeld, groupsWith, ownersOf, rowKey, rowsOf } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';
import { sameJson } from '../state/same-json.ts';

/**
 * Brings the objects of a source up to date with those of its groups. An object is there while one group has it. If
 * several have it, the attributes are those of the group whose name sorts first.
 */
export function updateUnion(tx: Transaction, source: string, changed: ReadonlyMap<string, Iterable<string>>): void {
  for (const [group, ids] of changed) {
    for (const id of ids) {
      const others = groupsWith(tx, source, id).filter((one) => one !== group);
      const isHeld = tx.get('objects', [rowsOf({ source, group }), id]) !== undefined;
      writeUnion(tx, source, id, isHeld ? [...others, group].sort() : others);
    }
  }
}

/** Does the same for all objects, after a catch-up of several answers. */
export function rebuildUnion(tx: Transaction, source: string): void {
  const owners = new Map<string, string[]>();
  for (const group of [...groupsHeld(tx, source)].sort()) {
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

/** Removes everything that a group gave, except what the union shows. Returns the ids of its objects. */
export function dropGroup(tx: Transaction, source: string, group: string): readonly string[] {
  const rows = rowsOf({ source, group });
  const ids = [...tx.entries('objects', rows)].map(([id]) => id);
  for (const id of ids) tx.delete('objects', [rows, id]);
  for (const [number] of [...tx.entries('staged', rows)]) tx.delete('staged', [rows, number]);
  tx.delete('sources', rowKey({ source, group }));
  return ids;
}
