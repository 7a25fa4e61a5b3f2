import { sameJson } from '@tidemark/protocol';
import type { SyncedObject } from '../view/source-view.ts';

/** What an object of a query includes by one relation. */
export type Related = SyncedObject | undefined | readonly SyncedObject[];

/** An object of a query with what it includes. */
export interface Row extends SyncedObject {
  readonly included: Readonly<Record<string, Related>>;
}

/** True if an app need not tell the rows from each other. */
export function isSameRow(left: Row, right: Row): boolean {
  if (left.attributes !== right.attributes || left.isPending !== right.isPending) return false;
  if (left.groups !== right.groups && !sameJson([...(left.groups ?? [])], [...(right.groups ?? [])])) return false;
  return Object.entries(left.included).every(([name, related]) => isSameRelated(related, right.included[name]));
}

function isSameRelated(left: Related, right: Related): boolean {
  if (!Array.isArray(left) || !Array.isArray(right)) return left === right;
  return left.length === right.length && left.every((object, index) => object === right[index]);
}
