declare const admitted: unique symbol;

/** Something that has passed admission. What was not admitted cannot be written, because it does not compile. */
export type Admitted<T> = T & { readonly [admitted]: true };

/** Only the functions of this room may call this. */
export function asAdmitted<T>(value: T): Admitted<T> {
  return value as Admitted<T>;
}

/** An object's attributes: name → canonical JSON text of the value. */
export type AttributeTexts = ReadonlyMap<string, string>;

/** Objects by id. */
export type ObjectTexts = ReadonlyMap<string, AttributeTexts>;

/**
 * Objects of which each may be looked at only when it is needed. They are numbered from 0, so that whoever goes through
 * them can keep book by number.
 */
export interface AdmittedObjects {
  readonly size: number;
  /** Undefined: there is no such object. */
  indexOf(id: string): number | undefined;
  idAt(index: number): string;
  /** Its attributes, admitted now if not before, or a refusal. */
  attributesAt(index: number): AttributeTexts;
  /** The JSON text of an object that nobody has looked at yet. One that is equal to a text kept here needs no look. */
  textAt(index: number): string | undefined;
}
