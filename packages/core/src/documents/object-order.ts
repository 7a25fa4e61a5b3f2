import { canonicalJson, type JsonValue, parseJson, pointer, Refusal, SORTED_TEXT_UNITS_MAX } from '@tidemark/protocol';
import { fieldOf, type ObjectField, type ObjectFields, type WantedAttributes } from './object-fields.ts';

/**
 * The place of an object in an order. Booleans come before numbers, these before texts, these before lists and objects,
 * which are compared as JSON text. Null and missing values come last, in both directions.
 */
export type SortKey =
  | readonly [kind: typeof BOOLEAN, value: boolean, id: string]
  | readonly [kind: typeof NUMBER, value: number, id: string]
  | readonly [kind: typeof TEXT | typeof JSON_TEXT, value: string, id: string]
  | readonly [kind: typeof NONE, value: null, id: string];

const BOOLEAN = 0;
const NUMBER = 1;
const TEXT = 2;
const JSON_TEXT = 3;
const NONE = 4;

export interface ObjectOrder {
  /** True: objects are read in this order, so that a list can end before all are read. */
  readonly isOfJournal: boolean;
  readonly wanted: WantedAttributes;
  keyOf(object: ObjectFields): SortKey;
  compare(left: SortKey, right: SortKey): number;
}

/** Parses an order, or refuses it. Without `sort` it is that of the last change. */
export function parseOrder(sort: string | undefined, direction: string | undefined): ObjectOrder {
  if (direction !== undefined && direction !== 'asc' && direction !== 'desc') {
    throw invalid('order', 'must be asc or desc');
  }
  if (sort === undefined && direction !== undefined) throw invalid('order', 'needs sort, which names the attribute');
  if (sort === '' || sort === '*') throw invalid('sort', 'must be an attribute, or one of @id and @seq');
  const field = fieldOf(sort ?? '@seq');
  const sign = direction === 'desc' ? -1 : 1;
  return {
    isOfJournal: field === '@seq' && sign === 1,
    wanted: typeof field === 'string' ? new Set() : new Set([field[0]]),
    keyOf: (object) => keyOf(object, field),
    compare: (left, right) => compareKeys(left, right, sign),
  };
}

/** Keys are short, so that a page of them fits into memory, and one into an address. */
function keyOf(object: ObjectFields, field: ObjectField): SortKey {
  const { id } = object;
  const value = object.valueOf(field);
  if (value === undefined || value === null) return [NONE, null, id];
  if (typeof value === 'boolean') return [BOOLEAN, value, id];
  if (typeof value === 'number') return [NUMBER, value, id];
  if (typeof value === 'string') return [TEXT, value.slice(0, SORTED_TEXT_UNITS_MAX), id];
  return [JSON_TEXT, canonicalJson(value).slice(0, SORTED_TEXT_UNITS_MAX), id];
}

function compareKeys([kind, value, id]: SortKey, [otherKind, other, otherId]: SortKey, sign: 1 | -1): number {
  if (kind !== otherKind) return kind === NONE ? 1 : otherKind === NONE ? -1 : (kind - otherKind) * sign;
  // Of the same kind, both have the same type.
  if (value !== other) return (value as string) < (other as string) ? -sign : sign;
  return id === otherId ? 0 : id < otherId ? -1 : 1;
}

const TYPES: readonly string[] = ['boolean', 'number', 'string', 'string', 'object'];

/** Reads the `next` of a page of a sorted list. */
export function parseCursor(text: string): SortKey {
  const [kind, value, id, ...rest] = listIn(text);
  const isKey =
    rest.length === 0 &&
    typeof kind === 'number' &&
    typeof value === TYPES[kind] &&
    (kind === NONE) === (value === null) &&
    typeof id === 'string';
  if (isKey) return [kind, value, id] as unknown as SortKey;
  throw invalid('after', 'must be the next of the previous page with the same sort');
}

function listIn(text: string): readonly JsonValue[] {
  try {
    const value = parseJson(text) as JsonValue;
    return Array.isArray(value) ? value : [];
  } catch {
    return [];
  }
}

function invalid(name: string, detail: string): Refusal {
  return new Refusal('invalid_value', `${name} ${detail}`, [{ pointer: pointer(name), detail }]);
}
