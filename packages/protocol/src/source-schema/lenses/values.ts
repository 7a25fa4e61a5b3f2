import type { JsonValue } from '../../json/canonical-json.ts';
import { sameJson } from '../../json/same-json.ts';
import type { ConvertStep, MapStep } from '../step.ts';
import { type Change, followRule, type Lens, put, remove, type Values } from './lens.ts';

export const mapping: Lens<MapStep> = {
  down(values, { attribute, values: pairs, shown_as }) {
    const value = values.get(attribute);
    if (value === undefined) return;
    const pair = pairs.find(([, now]) => sameJson(now, value)) ?? pairs.find(([old]) => sameJson(old, value));
    show(values, attribute, pair === undefined ? shown_as : pair[0]);
  },
  up(change, _newer, { attribute, values: pairs, otherwise }) {
    const value = change.set.get(attribute);
    if (value === undefined) return;
    const pair = pairs.find(([old]) => sameJson(old, value));
    if (pair !== undefined) change.set.set(attribute, pair[1]);
    else {
      const detail = `${JSON.stringify(value)} has no counterpart in the newer version`;
      followRule(otherwise, { ...waysOf(change, attribute, detail), nearest: () => undefined });
    }
  },
  renew(values, { attribute, values: pairs, otherwise }) {
    const value = values.get(attribute);
    if (value === undefined || pairs.some(([, now]) => sameJson(now, value))) return;
    const pair = pairs.find(([old]) => sameJson(old, value));
    if (pair !== undefined) values.set(attribute, pair[1]);
    else if (typeof otherwise === 'object') values.set(attribute, otherwise.value);
  },
};

export const conversion: Lens<ConvertStep> = {
  down(values, { attribute, to, shown_as }) {
    const value = values.get(attribute);
    if (value === undefined || value === null) return;
    show(values, attribute, firstGiven(BACK[to](value), shown_as));
  },
  up(change, newer, step) {
    const { attribute, to } = step;
    if (change.removed.has(attribute)) {
      if (to === 'list') removeFirst(change, newer, step);
      return;
    }
    const value = change.set.get(attribute);
    if (value === null && to === 'list') writeNullFirst(change, newer, step);
    if (value === undefined || value === null) return;
    if (to === 'one' && Array.isArray(value) && value.length === 0) remove(change, newer, attribute);
    else if (to === 'list') change.set.set(attribute, [value, ...restOf(newer, attribute)]);
    else convert(change, step, value);
  },
  renew(values, { attribute, to, otherwise }) {
    const value = values.get(attribute);
    if (value === undefined || value === null || isConverted[to](value)) return;
    if (to === 'one' && Array.isArray(value) && value.length === 0) values.delete(attribute);
    else {
      const forced = typeof otherwise === 'object' ? otherwise.value : undefined;
      const near = otherwise === 'nearest' ? NEAREST[to](value) : undefined;
      show(values, attribute, firstGiven(FORTH[to](value), near, forced, value));
    }
  },
};

function convert(change: Change, { attribute, to, otherwise }: ConvertStep, value: JsonValue): void {
  const exact = FORTH[to](value);
  if (exact !== undefined) {
    change.set.set(attribute, exact);
    return;
  }
  const ways = waysOf(change, attribute, `${JSON.stringify(value)} cannot become ${WORDS[to]} exactly`);
  const near = NEAREST[to](value);
  followRule(otherwise, near === undefined ? ways : { ...ways, nearest: () => change.set.set(attribute, near) });
}

/** The older app writes null in place of the one value it sees. */
function writeNullFirst(change: Change, newer: ReadonlyMap<string, JsonValue> | null, step: ConvertStep): void {
  const list = newer?.get(step.attribute);
  if (Array.isArray(list) && list[0] === null) change.set.set(step.attribute, list);
  else removeFirst(change, newer, step);
}

/** The older app removes the one value it sees. */
function removeFirst(change: Change, newer: ReadonlyMap<string, JsonValue> | null, step: ConvertStep): void {
  const { attribute, otherwise } = step;
  const rest = restOf(newer, attribute);
  if (rest.length === 0) return;
  change.removed.delete(attribute);
  const ways = waysOf(change, attribute, 'has several values, and an older app removed the one it sees');
  followRule(otherwise, { ...ways, nearest: () => change.set.set(attribute, rest) });
}

/** `null` is a value as any other. */
function firstGiven(...values: readonly (JsonValue | undefined)[]): JsonValue | undefined {
  return values.find((value) => value !== undefined);
}

function restOf(newer: ReadonlyMap<string, JsonValue> | null, attribute: string): readonly JsonValue[] {
  const list = newer?.get(attribute);
  return Array.isArray(list) ? list.slice(1) : [];
}

function waysOf(change: Change, attribute: string, detail: string) {
  const write = (value: JsonValue) => put(change, attribute, value);
  return { attribute, detail, write, drop: () => void change.set.delete(attribute) };
}

/** Shows a value of the older version; undefined: it has none for this. */
function show(values: Values, attribute: string, value: JsonValue | undefined): void {
  if (value === undefined) values.delete(attribute);
  else values.set(attribute, value);
}

type To = ConvertStep['to'];
type Conversion = (value: JsonValue) => JsonValue | undefined;

const WORDS: Readonly<Record<To, string>> = { text: 'a text', number: 'a number', list: 'a list', one: 'one value' };

/** Whether a value is one of the newer version already. */
const isConverted: Readonly<Record<To, (value: JsonValue) => boolean>> = {
  text: (value) => typeof value === 'string',
  number: (value) => typeof value === 'number',
  list: Array.isArray,
  one: (value) => !Array.isArray(value),
};

/** The value of the newer version that equals one of the older version; undefined: there is none. */
const FORTH: Readonly<Record<To, Conversion>> = {
  text: (value) => (typeof value === 'number' ? String(value) : undefined),
  number: (value) => (typeof value === 'string' ? numberOf(value) : undefined),
  list: (value) => [value],
  one: (value) => (Array.isArray(value) && value.length === 1 ? value[0] : undefined),
};

/** The reverse. Values that are of the older version already stay as they are. */
const BACK: Readonly<Record<To, Conversion>> = {
  text: (value) => (typeof value === 'string' ? numberOf(value) : typeof value === 'number' ? value : undefined),
  number: (value) => (typeof value === 'number' ? String(value) : typeof value === 'string' ? value : undefined),
  list: (value) => (Array.isArray(value) ? value[0] : value),
  one: (value) => (Array.isArray(value) ? value : [value]),
};

const NEAREST: Readonly<Record<To, Conversion>> = {
  text: () => undefined,
  number: (value) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : Number.NaN;
    return Number.isFinite(number) && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined;
  },
  list: () => undefined,
  one: (value) => (Array.isArray(value) ? value[0] : undefined),
};

/** The number that a text writes in the usual way, so that it becomes the same text again. */
function numberOf(text: string): number | undefined {
  const number = Number(text);
  return String(number) === text && Math.abs(number) <= Number.MAX_SAFE_INTEGER ? number : undefined;
}
