import { canonicalJson, type JsonValue } from '@tidemark/protocol';

export type Attributes = Readonly<Record<string, JsonValue>>;

export interface Change {
  readonly name: string;
  /** Undefined: there was none. */
  readonly before: JsonValue | undefined;
  /** Undefined: it is removed. */
  readonly after: JsonValue | undefined;
}

/** Returns the attributes that differ. The order of the members of a value is no difference, as for the server. */
export function differenceOf(old: Attributes, next: Attributes): readonly Change[] {
  const names = [...new Set([...Object.keys(old), ...Object.keys(next)])];
  const valueIn = (attributes: Attributes, name: string) =>
    Object.hasOwn(attributes, name) ? attributes[name] : undefined;
  return names
    .map((name) => ({ name, before: valueIn(old, name), after: valueIn(next, name) }))
    .filter(({ before, after }) => textOf(before) !== textOf(after));
}

function textOf(value: JsonValue | undefined): string | undefined {
  return value === undefined ? undefined : canonicalJson(value);
}
