import type { JsonValue } from '@tidemark/protocol';

/** Attribute → value. */
export type Attributes = { readonly [attribute: string]: JsonValue };

/** Object id → attributes: the hash of hashes of the API. */
export type Objects = { readonly [id: string]: Attributes };

/** One object. A whole number is taken for its decimal digits, since that is how most databases give ids. */
export type ObjectEntry<A = Attributes> = readonly [id: string | number, attributes: A];

/** Objects in any form: all at once, or one by one as they are read from somewhere. */
export type ObjectsGiven<A = Attributes> =
  | { readonly [id: string]: A }
  | Iterable<ObjectEntry<A>>
  | AsyncIterable<ObjectEntry<A>>;

export type IdsGiven = Iterable<string | number> | AsyncIterable<string | number>;

/** The objects one by one, whatever form they were given in. */
export function entriesOf<A>(given: ObjectsGiven<A>): Iterable<ObjectEntry<A>> | AsyncIterable<ObjectEntry<A>> {
  return isIterable(given) ? given : Object.entries(given);
}

function isIterable<A>(given: ObjectsGiven<A>): given is Iterable<ObjectEntry<A>> | AsyncIterable<ObjectEntry<A>> {
  // An object may well be called by a name, but never by a symbol.
  return Symbol.asyncIterator in given || Symbol.iterator in given;
}

/** An id as the wire has it, or null when it is none. */
export function idText(id: unknown): string | null {
  if (typeof id === 'string') return id === '' ? null : id;
  return Number.isSafeInteger(id) ? String(id) : null;
}

/**
 * One object as a member of a JSON object. JSON has no word for numbers that are not finite: written as null they would
 * silently become something else, so they are refused.
 */
export function memberText(id: string, attributes: unknown): string {
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes)) {
    throw new TypeError(`the object ${JSON.stringify(id)} has no attributes`);
  }
  const text = JSON.stringify(attributes);
  // Hardly any text contains a null, so hardly any object is looked at twice.
  if (text.includes('null') && hasUnsayable(attributes)) {
    throw new TypeError(`the object ${JSON.stringify(id)} has a number that is not finite`);
  }
  return `${JSON.stringify(id)}:${text}`;
}

function hasUnsayable(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasUnsayable);
}
