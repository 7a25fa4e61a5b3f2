import { type ParsedPath, parsePath, valueAt } from '@tidemark/protocol';
import { ClientError } from '../client-error.ts';
import type { SyncedObject } from '../view/source-view.ts';
import { compareValues, type Value } from './value-order.ts';

/** What an object is sorted by: the value at the path, or the values if there are several paths. */
export type SortKey = Value | readonly Value[];

/** A compiled `orderBy`. */
export interface Order {
  /** The paths, the most significant first. */
  readonly terms: readonly Term[];
  keyOf(object: Pick<SyncedObject, 'attributes'>): SortKey;
  compare(left: SortKey, right: SortKey): number;
}

interface Term {
  readonly name: string;
  readonly path: ParsedPath;
  readonly sign: 1 | -1;
}

/** Throws `invalid_request` if it is malformed. */
export function orderOf(orderBy: unknown): Order {
  const given: readonly unknown[] = orderBy === undefined ? [] : Array.isArray(orderBy) ? orderBy : [orderBy];
  const terms = given.flatMap(termsOf);
  const [first] = terms;
  // Most queries have at most one path. Without a list for every object they are evaluated much faster.
  if (first === undefined) return { terms, keyOf: () => undefined, compare: () => 0 };
  if (terms.length === 1) {
    const { path, sign } = first;
    return {
      terms,
      keyOf: ({ attributes }) => valueAt(attributes, path),
      compare: (left, right) => compareValues(left as Value, right as Value) * sign,
    };
  }
  return {
    terms,
    keyOf: ({ attributes }) => terms.map(({ path }) => valueAt(attributes, path)),
    compare: (left, right) => compareAll(terms, left as readonly Value[], right as readonly Value[]),
  };
}

function compareAll(terms: readonly Term[], left: readonly Value[], right: readonly Value[]): number {
  // Without `entries()`, since sorting calls this for every comparison.
  let index = 0;
  for (const { sign } of terms) {
    const order = compareValues(left[index], right[index++]);
    if (order !== 0) return order * sign;
  }
  return 0;
}

function termsOf(term: unknown): readonly Term[] {
  if (typeof term === 'string') return [{ name: term, path: parsePath(term), sign: 1 }];
  if (typeof term !== 'object' || term === null) throw malformed(term);
  return Object.entries(term).map(([path, direction]) => {
    if (direction !== 'asc' && direction !== 'desc') throw malformed(term);
    return { name: path, path: parsePath(path), sign: direction === 'asc' ? 1 : -1 };
  });
}

function malformed(term: unknown): ClientError {
  return new ClientError(
    'invalid_request',
    `"orderBy": expected paths or { path: "asc" | "desc" }, got ${JSON.stringify(term)}`,
  );
}
