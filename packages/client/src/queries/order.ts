import { ClientError } from '../client-error.ts';
import type { SyncedObject } from '../view/source-view.ts';
import { type ParsedPath, parsePath, valueAt } from './path.ts';
import { compareValues, type Value } from './value-order.ts';

/** A compiled `orderBy`. */
export interface Order {
  keysOf(object: SyncedObject): readonly Value[];
  compare(left: readonly Value[], right: readonly Value[]): number;
}

interface Term {
  readonly path: ParsedPath;
  readonly sign: 1 | -1;
}

const NO_KEYS: readonly Value[] = [];

/** Throws `invalid_request` if it is malformed. */
export function orderOf(orderBy: unknown): Order {
  const given: readonly unknown[] = orderBy === undefined ? [] : Array.isArray(orderBy) ? orderBy : [orderBy];
  const terms = given.flatMap(termsOf);
  return {
    keysOf: ({ attributes }) => (terms.length === 0 ? NO_KEYS : terms.map(({ path }) => valueAt(attributes, path))),
    compare: (left, right) => {
      // Without `entries()`, since sorting calls this for every comparison.
      let index = 0;
      for (const { sign } of terms) {
        const order = compareValues(left[index], right[index++]);
        if (order !== 0) return order * sign;
      }
      return 0;
    },
  };
}

function termsOf(term: unknown): readonly Term[] {
  if (typeof term === 'string') return [{ path: parsePath(term), sign: 1 }];
  if (typeof term !== 'object' || term === null) throw malformed(term);
  return Object.entries(term).map(([path, direction]) => {
    if (direction !== 'asc' && direction !== 'desc') throw malformed(term);
    return { path: parsePath(path), sign: direction === 'asc' ? 1 : -1 };
  });
}

function malformed(term: unknown): ClientError {
  return new ClientError(
    'invalid_request',
    `"orderBy": expected paths or { path: "asc" | "desc" }, got ${JSON.stringify(term)}`,
  );
}
