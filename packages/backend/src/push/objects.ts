import type { AttributesOfSource, JsonValue, SourceTypes } from '@tidemark/protocol';

/** Attribute → value. */
export type Attributes = { readonly [attribute: string]: JsonValue };

/** What a push may give of an object: any attributes, or some of those that the source has by its type. */
export type PushedAttributes<S extends SourceTypes, N extends keyof S> = string extends keyof S
  ? Attributes
  : Partial<AttributesOfSource<S, N>>;

/** Object id → attributes: the hash of hashes of the API. */
export type Objects<A = Attributes> = { readonly [id: string]: A };

/** One object. A whole number as id is converted to text, because many databases have numeric ids. */
export type ObjectEntry<A = Attributes> = readonly [id: string | number, attributes: A];

/** Objects in any form: as one object, or as an iterable of entries. */
export type ObjectsGiven<A = Attributes> = Objects<A> | Iterable<ObjectEntry<A>> | AsyncIterable<ObjectEntry<A>>;

/** Objects that are there already. */
export type ObjectsNow<A = Attributes> = Exclude<ObjectsGiven<A>, AsyncIterable<ObjectEntry<A>>>;

export type IdsGiven = Iterable<string | number> | AsyncIterable<string | number>;

/** Objects or an id that are not what they should be. The message holds nothing of them but an id. */
export class ObjectFlaw extends TypeError {}

/** Returns the objects as entries, whatever their form. */
export function entriesOf<A>(given: ObjectsGiven<A>): Iterable<ObjectEntry<A>> | AsyncIterable<ObjectEntry<A>> {
  return isIterable(given) ? given : Object.entries(given);
}

function isIterable<A>(given: ObjectsGiven<A>): given is Iterable<ObjectEntry<A>> | AsyncIterable<ObjectEntry<A>> {
  // Ids are strings, so a symbol is never an id.
  return Symbol.asyncIterator in given || Symbol.iterator in given;
}

/** Returns an id as text, or null when it is not valid. */
export function idText(id: unknown): string | null {
  if (typeof id === 'string') return id === '' ? null : id;
  return Number.isSafeInteger(id) ? String(id) : null;
}

/**
 * Returns one object as a member of a JSON object. Numbers that are not finite are refused, because JSON would turn them
 * into null.
 */
export function memberText(id: string, attributes: unknown): string {
  if (typeof attributes !== 'object' || attributes === null || Array.isArray(attributes)) {
    throw new ObjectFlaw(`the object ${JSON.stringify(id)} has no attributes`);
  }
  const text = jsonText(id, attributes);
  // Only objects whose text contains a null have to be checked.
  if (text.includes('null') && hasInfiniteNumber(attributes)) {
    throw new ObjectFlaw(`the object ${JSON.stringify(id)} has a number that is not finite`);
  }
  return `${JSON.stringify(id)}:${text}`;
}

/** Values such as a BigInt, and objects that contain themselves, have no JSON. */
function jsonText(id: string, attributes: object): string {
  try {
    return JSON.stringify(attributes);
  } catch (error) {
    throw new ObjectFlaw(`the object ${JSON.stringify(id)} has a value that is not JSON`, { cause: error });
  }
}

function hasInfiniteNumber(value: unknown): boolean {
  if (typeof value === 'number') return !Number.isFinite(value);
  return typeof value === 'object' && value !== null && Object.values(value).some(hasInfiniteNumber);
}
