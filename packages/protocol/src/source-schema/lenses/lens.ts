import type { JsonValue } from '../../json/canonical-json.ts';
import type { Otherwise } from '../step.ts';

/** The attributes of an object while they are translated. */
export type Values = Map<string, JsonValue>;

/** What a change sets and removes, while it is translated. */
export interface Change {
  readonly set: Values;
  readonly removed: Set<string>;
}

/** A step of a schema as functions. They change what they are given. */
export interface Lens<S> {
  /** Turns the attributes of the newer version into those of the older one. Attributes of the older one stay as they are. */
  down(values: Values, step: S): void;
  /**
   * Turns a change of the older version into one of the newer version. `newer` is the object that it is made to, null if it
   * creates one. Throws `Untranslatable`.
   */
  up(change: Change, newer: ReadonlyMap<string, JsonValue> | null, step: S): void;
  /**
   * Turns the attributes of an object into those of the newer version, whichever of the two they are of. Where it has both, because
   * somebody has changed an object that was not converted yet, the newer ones count.
   */
  renew(values: Values, step: S): void;
}

/** The newer version cannot express what an older one wrote, and no rule says what to do. */
export class Untranslatable extends Error {
  override readonly name = 'Untranslatable';
  readonly attribute: string;

  constructor(attribute: string, detail: string) {
    super(`${JSON.stringify(attribute)} ${detail}`);
    this.attribute = attribute;
  }
}

/** How a lens follows each rule for what it cannot express. */
export interface Ways {
  readonly attribute: string;
  readonly detail: string;
  readonly write: (value: JsonValue) => void;
  readonly drop: () => void;
  /** Absent: nothing comes near. */
  readonly nearest?: () => void;
}

export function followRule(rule: Otherwise | undefined, { attribute, detail, write, drop, nearest }: Ways): void {
  if (typeof rule === 'object') write(rule.value);
  else if (rule === 'drop') drop();
  else if (rule === 'nearest' && nearest !== undefined) nearest();
  else throw new Untranslatable(attribute, detail);
}

/** Refuses a change that writes an attribute which the step brings: what the older app means by it is unknown. */
export function requireFree({ set, removed }: Change, names: Iterable<string>): void {
  for (const name of names) {
    if (set.has(name) || removed.has(name)) throw new Untranslatable(name, 'means something else in a newer version');
  }
}

/** Removes the attribute if the object has it. */
export function remove({ set, removed }: Change, newer: ReadonlyMap<string, JsonValue> | null, name: string): void {
  set.delete(name);
  if (newer?.has(name) === true) removed.add(name);
}

export function put({ set, removed }: Change, name: string, value: JsonValue): void {
  removed.delete(name);
  set.set(name, value);
}

export type JsonObject = { readonly [name: string]: JsonValue };

export function isJsonObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
