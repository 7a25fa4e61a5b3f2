import { canonicalJson, FILTER_CONDITIONS_MAX, type JsonValue, parseJson, pointer, Refusal } from '@tidemark/protocol';
import { quoted } from '../admission/admit-name.ts';
import { fieldOf, type ObjectFields, type WantedAttributes } from './object-fields.ts';

/** A parsed filter: conditions all of which must hold. */
export interface ObjectFilter {
  readonly wanted: WantedAttributes;
  /** The only ids that can match; null: any. */
  readonly ids: ReadonlySet<string> | null;
  matches(object: ObjectFields): boolean;
}

interface Condition {
  readonly ids?: readonly string[];
  readonly wanted: WantedAttributes;
  readonly matches: (object: ObjectFields) => boolean;
}

type Value = JsonValue | undefined;

interface Operator {
  readonly test: (value: Value, operand: JsonValue) => boolean;
  /** What the operand must be, as the end of a sentence; absent: any JSON value. */
  readonly operand?: { readonly is: (operand: JsonValue) => boolean; readonly words: string };
}

const isText = (value: Value) => typeof value === 'string';
const COMPARABLE = {
  is: (operand: JsonValue) => typeof operand === 'number' || isText(operand),
  words: 'must be a number or a text',
};

/** A comparison never holds between different types. */
function comparison(holds: (order: number) => boolean): Operator {
  return {
    operand: COMPARABLE,
    test: (value, operand) => {
      if (value === undefined || value === null || typeof value !== typeof operand) return false;
      return holds(value === operand ? 0 : value < (operand as string | number) ? -1 : 1);
    },
  };
}

/** The operators of the queries of devices, and `contains`. */
const OPERATORS: Readonly<Record<string, Operator>> = {
  eq: { test: isEqual },
  ne: { test: (value, operand) => !isEqual(value, operand) },
  lt: comparison((order) => order < 0),
  lte: comparison((order) => order <= 0),
  gt: comparison((order) => order > 0),
  gte: comparison((order) => order >= 0),
  in: {
    operand: { is: Array.isArray, words: 'must be a list' },
    test: (value, operand) => oneOf(operand as readonly JsonValue[])(value, operand),
  },
  prefix: {
    operand: { is: isText, words: 'must be a text' },
    test: (value, operand) => typeof value === 'string' && value.startsWith(operand as string),
  },
  contains: {
    operand: { is: isText, words: 'must be a text' },
    test: (value, operand) => value !== undefined && contains(value, (operand as string).toLowerCase()),
  },
  exists: {
    operand: { is: (operand) => typeof operand === 'boolean', words: 'must be true or false' },
    test: (value, operand) => (value !== undefined) === operand,
  },
};

const COMBINATORS: ReadonlySet<string> = new Set(['and', 'or', 'not']);

/** Parses a filter, or refuses it with what is wrong. Null: there is none, and all objects match. */
export function parseFilter(text: string | undefined): ObjectFilter | null {
  if (text === undefined) return null;
  const given = readJson(text);
  const parts = Array.isArray(given) && given.length > 0 ? given : [given];
  if (!parts.every(isObject)) {
    throw invalid(
      ['filter'],
      'must be an object of conditions, such as {"total":{"gte":10}}, or a list of such objects',
    );
  }
  const conditions = parts.flatMap((part) =>
    Object.entries(part).flatMap(([name, condition]) => conditionsOf(name, condition)),
  );
  if (conditions.length > FILTER_CONDITIONS_MAX) {
    throw invalid(['filter'], `must have at most ${FILTER_CONDITIONS_MAX} conditions`);
  }
  return {
    wanted: joinWanted(conditions.map(({ wanted }) => wanted)),
    ids: idsOf(conditions),
    matches: (object) => conditions.every((condition) => condition.matches(object)),
  };
}

/** All conditions must hold, so the ids of one of them are enough. */
function idsOf(conditions: readonly Condition[]): ReadonlySet<string> | null {
  const ids = conditions.find((condition) => condition.ids !== undefined)?.ids;
  return ids === undefined ? null : new Set(ids);
}

/** Returns what at least one of them wants. */
export function joinWanted(all: readonly WantedAttributes[]): WantedAttributes {
  const names = new Set<string>();
  for (const wanted of all) {
    if (wanted === null) return null;
    for (const name of wanted) names.add(name);
  }
  return names;
}

function readJson(text: string): JsonValue {
  try {
    return parseJson(text) as JsonValue;
  } catch {
    throw invalid(['filter'], 'must be JSON, such as {"status":"open"}');
  }
}

/** A value alone means `eq`. */
function conditionsOf(name: string, condition: JsonValue): readonly Condition[] {
  if (COMBINATORS.has(name)) {
    throw invalid(['filter', name], `is not offered here; all conditions must hold. "\\\\${name}" is the attribute`);
  }
  const operators = isObject(condition) ? Object.entries(condition) : [['eq', condition] as const];
  if (operators.length === 0) throw invalid(['filter', name], 'must have at least one operator');
  return operators.map(([operator, operand]) => conditionOf(name, operator, operand));
}

function conditionOf(name: string, operatorName: string, operand: JsonValue): Condition {
  const at = ['filter', name, operatorName];
  const operator = Object.hasOwn(OPERATORS, operatorName) ? OPERATORS[operatorName] : undefined;
  if (operator === undefined) throw invalid(at, `is no operator; there are ${Object.keys(OPERATORS).join(', ')}`);
  if (operator.operand?.is(operand) === false) throw invalid(at, operator.operand.words);
  if (name === '*') {
    if (operatorName !== 'contains') throw invalid(at, 'is not offered for *, which takes contains');
    return anywhere((operand as string).toLowerCase());
  }
  const field = fieldOf(name);
  const test = operatorName === 'in' ? oneOf(operand as readonly JsonValue[]) : operator.test;
  return {
    wanted: typeof field === 'string' ? new Set() : new Set([field[0]]),
    ...(field === '@id' ? idsNamed(operatorName, operand) : {}),
    matches: (object) => test(object.valueOf(field), operand),
  };
}

/** A list may be long, and be compared with many objects. */
function oneOf(operands: readonly JsonValue[]): Operator['test'] {
  const scalars = new Set<Value>(operands.filter((one) => typeof one !== 'object' || one === null));
  const others = operands.filter((one) => !scalars.has(one));
  return (value) => scalars.has(value) || others.some((one) => isEqual(value, one));
}

/** An operand that is no text is no id, and matches nothing. */
function idsNamed(operatorName: string, operand: JsonValue): Pick<Condition, 'ids'> {
  if (operatorName !== 'eq' && operatorName !== 'in') return {};
  const given = operatorName === 'in' && Array.isArray(operand) ? operand : [operand];
  return { ids: given.filter((one) => typeof one === 'string') };
}

/** Looks at the id and the values of all attributes. */
function anywhere(lowerCase: string): Condition {
  return {
    wanted: null,
    matches: (object) => {
      if (contains(object.id, lowerCase)) return true;
      for (const value of object.values()) if (contains(value, lowerCase)) return true;
      return false;
    },
  };
}

function contains(value: JsonValue, lowerCase: string): boolean {
  return (typeof value === 'string' ? value : canonicalJson(value)).toLowerCase().includes(lowerCase);
}

function isEqual(value: Value, operand: JsonValue): boolean {
  if (value === operand) return true;
  if (typeof value !== 'object' || typeof operand !== 'object') return false;
  return canonicalJson(value) === canonicalJson(operand);
}

function isObject(value: JsonValue): value is { readonly [name: string]: JsonValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(path: readonly string[], detail: string): Refusal {
  const [, ...names] = path;
  const subject = names.length === 0 ? 'filter' : `filter: ${names.map(quoted).join(' of ')}`;
  return new Refusal('invalid_value', `${subject} ${detail}`, [{ pointer: pointer(...path), detail }]);
}
