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
