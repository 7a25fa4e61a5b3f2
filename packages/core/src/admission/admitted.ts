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
