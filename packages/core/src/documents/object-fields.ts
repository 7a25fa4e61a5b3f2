import { type JsonValue, type ParsedPath, parseJson, parsePath, valueAt } from '@tidemark/protocol';
import { eachAttribute } from '../journal/record.ts';

/** What a condition or an order looks at: the id, the seq of the last change, or the value at a path. */
export type ObjectField = '@id' | '@seq' | ParsedPath;

/** Reads the name of a field. A backslash makes `@` part of the name, as it does with a dot. */
export function fieldOf(name: string): ObjectField {
  return name === '@id' || name === '@seq' ? name : parsePath(name);
}

/** The attributes that are looked at; null: all of them. */
export type WantedAttributes = ReadonlySet<string> | null;

/** An object of which only the wanted attributes are kept, and parsed when they are looked at. */
export class ObjectFields {
  readonly id: string;
  readonly seq: number;
  readonly #texts = new Map<string, string>();

  constructor(record: string, seq: number, wanted: WantedAttributes) {
    this.id = eachAttribute(record, (name, text) => {
      if (wanted === null || wanted.has(name)) this.#texts.set(name, text);
    });
    this.seq = seq;
  }

  /** Undefined: the object does not have it. */
  valueOf(field: ObjectField): JsonValue | undefined {
    if (field === '@id') return this.id;
    if (field === '@seq') return this.seq;
    const text = this.#texts.get(field[0]);
    if (text === undefined) return undefined;
    const value = parseJson(text) as JsonValue;
    return field.length === 1 ? value : valueAt({ [field[0]]: value }, field);
  }

  /** The values of all wanted attributes. */
  *values(): Iterable<JsonValue> {
    for (const text of this.#texts.values()) yield parseJson(text) as JsonValue;
  }
}
