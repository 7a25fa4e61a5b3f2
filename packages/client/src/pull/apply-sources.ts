import { type SyncSource, sameJson } from '@tidemark/protocol';
import { asideOf, groupsHeld, ownersOf } from '../state/group-rows.ts';
import type { Transaction } from '../state/local-state.ts';
import type { SourceRow } from '../state/rows.ts';
import { dropGroup } from './group-union.ts';

/**
 * Applies the list of sources in the transaction: new sources start empty, removed ones are deleted with their
 * objects.
 */
export function applySources(tx: Transaction, descriptions: readonly SyncSource[]): void {
  const named = new Map(descriptions.map((description) => [description.name, description]));
  for (const [source, row] of [...tx.entries('sources', '')]) {
    const description = named.get(source);
    if (description === undefined) dropSource(tx, source);
    else if (!sameJson(description, row.description)) tx.put('sources', ['', source], { ...row, description });
  }
  for (const [source, description] of named) {
    if (tx.get('sources', ['', source]) === undefined) tx.put('sources', ['', source], emptyRow(description));
  }
}

/** Uploads without a final outcome stay, because the server still decides about them. */
function dropSource(tx: Transaction, source: string): void {
  for (const group of groupsHeld(tx, source)) dropGroup(tx, source, group);
  for (const first of [ownersOf(source), asideOf(source)]) tx.drop('objects', first);
  for (const table of ['objects', 'staged', 'links'] as const) tx.drop(table, source);
  for (const [opId, { source: target, state }] of [...tx.entries('uploads', '')]) {
    if (target === source && state === 'applied') tx.delete('uploads', ['', opId]);
  }
  tx.delete('sources', ['', source]);
}

function emptyRow(description: SyncSource): SourceRow {
  return { description, seen: null, token: null, staging: null, syncedAtMs: null, heals: 0 };
}
