import type { JsonValue } from '../../json/canonical-json.ts';
import { sameJson } from '../../json/same-json.ts';
import type { JoinStep, SplitStep } from '../step.ts';
import { followRule, type Lens, put, remove, requireFree, type Values } from './lens.ts';

type Part = JsonValue | undefined;

export const splitting: Lens<SplitStep> = {
  down(values, { attribute, into, separator, shown_as }) {
    const parts = takeAll(values, into);
    if (parts.every((part) => part === undefined)) return;
    const whole = joined(parts, separator) ?? shown_as;
    if (whole !== undefined) values.set(attribute, whole);
  },
  up(change, newer, { attribute, into, separator }) {
    requireFree(change, into);
    const value = change.set.get(attribute);
    if (value === undefined && !change.removed.delete(attribute)) return;
    change.set.delete(attribute);
    for (const [index, part] of partsOf(value, into.length, separator).entries()) {
      const name = into[index] as string;
      if (part === undefined) remove(change, newer, name);
      else put(change, name, part);
    }
  },
  renew(values, { attribute, into, separator }) {
    const value = values.get(attribute);
    if (value === undefined) return;
    values.delete(attribute);
    if (!into.some((name) => values.has(name))) putAll(values, into, partsOf(value, into.length, separator));
  },
};

export const joining: Lens<JoinStep> = {
  down(values, { attributes, into, separator }) {
    const whole = values.get(into);
    if (whole === undefined) return;
    values.delete(into);
    putAll(values, attributes, partsOf(whole, attributes.length, separator));
  },
  up(change, newer, { attributes, into, separator, otherwise }) {
    const { set, removed } = change;
    requireFree(change, [into]);
    const touched = attributes.filter((name) => set.has(name) || removed.has(name));
    if (touched.length === 0) return;
    const before = partsOf(newer?.get(into), attributes.length, separator);
    const parts = attributes.map((name, index) => (set.has(name) || removed.has(name) ? set.get(name) : before[index]));
    const drop = () => {
      for (const name of touched) {
        set.delete(name);
        removed.delete(name);
      }
    };
    const write = (value: Part) => {
      drop();
      if (value === undefined) remove(change, newer, into);
      else put(change, into, value);
    };
    const whole = joined(parts, separator);
    const again = partsOf(whole, attributes.length, separator);
    if (parts.every((part, index) => sameJson(part, again[index]))) write(whole);
    else {
      const [attribute = into] = touched;
      const nearest = () => write(joined(parts.map(textOnly), separator));
      followRule(otherwise, {
        attribute,
        detail: `cannot be found again in ${JSON.stringify(into)}`,
        write,
        drop,
        nearest,
      });
    }
  },
  renew(values, { attributes, into, separator }) {
    const parts = takeAll(values, attributes);
    if (values.has(into)) return;
    const whole = joined(parts, separator);
    if (whole !== undefined) values.set(into, whole);
    else putAll(values, attributes, parts);
  },
};

function textOnly(part: Part): Part {
  return typeof part === 'string' ? part : undefined;
}

/** Takes the attributes out of the values. */
function takeAll(values: Values, names: readonly string[]): readonly Part[] {
  return names.map((name) => {
    const value = values.get(name);
    values.delete(name);
    return value;
  });
}

function putAll(values: Values, names: readonly string[], parts: readonly Part[]): void {
  for (const [index, name] of names.entries()) {
    const part = parts[index];
    if (part !== undefined) values.set(name, part);
  }
}

/** Splits a text at the first separators, so that there are at most so many parts. A value that is no text is the first part. */
function partsOf(value: Part, count: number, separator: string): readonly Part[] {
  const parts: Part[] = Array.from({ length: count });
  if (typeof value !== 'string') {
    parts[0] = value;
    return parts;
  }
  const pieces = value.split(separator);
  const last = pieces.slice(count - 1).join(separator);
  for (const [index, piece] of pieces.slice(0, count - 1).entries()) parts[index] = piece;
  if (pieces.length >= count) parts[count - 1] = last;
  return parts;
}

/** Returns the texts as one; a value that is no text if it is the only part; undefined if there is nothing that is both. */
function joined(parts: readonly Part[], separator: string): Part {
  const present = parts.filter((part) => part !== undefined);
  if (present.length === 1) return present[0];
  return present.length > 0 && present.every((part) => typeof part === 'string') ? present.join(separator) : undefined;
}
