import { type JsonValue, parsePath, valueAt } from '@tidemark/protocol';
import { ClientError } from '../client-error.ts';
import type { Attributes } from '../state/rows.ts';
import { exactly, type IndexRange } from './source-index.ts';
import { compareValues, typeRank, type Value } from './value-order.ts';

export type Matches = (attributes: Attributes) => boolean;

export interface CompiledWhere {
  readonly matches: Matches;
  /** Ranges of which an index on the path finds every object that matches. */
  readonly ranges: readonly IndexedCondition[];
  /** True if objects in the first range match without anything else; also if every object matches. */
  readonly isOneRange: boolean;
}

export interface IndexedCondition {
  readonly path: string;
  readonly operator: string;
  readonly operand: JsonValue;
  readonly ranges: readonly IndexRange[];
}

interface Operator {
  readonly test: (value: Value, operand: JsonValue) => boolean;
  readonly ranges?: (operand: JsonValue) => readonly IndexRange[];
}

const sameType = (value: Value, operand: Value) => typeRank(value) === typeRank(operand);
const startsWith = (value: Value, operand: JsonValue) =>
  typeof value === 'string' && value.startsWith(operand as string);

const fromStartOfType = (operand: JsonValue) => (value: Value) => typeRank(value) >= typeRank(operand);
const behindType = (operand: JsonValue) => (value: Value) => typeRank(value) > typeRank(operand);
const from = (operand: JsonValue) => (value: Value) => compareValues(value, operand) >= 0;
const behind = (operand: JsonValue) => (value: Value) => compareValues(value, operand) > 0;

const OPERATORS: Readonly<Record<string, Operator>> = {
  eq: { test: (value, operand) => compareValues(value, operand) === 0, ranges: (operand) => [exactly(operand)] },
  ne: { test: (value, operand) => compareValues(value, operand) !== 0 },
  lt: {
    test: (value, operand) => sameType(value, operand) && compareValues(value, operand) < 0,
    ranges: (operand) => [{ isReached: fromStartOfType(operand), isPassed: from(operand) }],
  },
  lte: {
    test: (value, operand) => sameType(value, operand) && compareValues(value, operand) <= 0,
    ranges: (operand) => [{ isReached: fromStartOfType(operand), isPassed: behind(operand) }],
  },
  gt: {
    test: (value, operand) => sameType(value, operand) && compareValues(value, operand) > 0,
    ranges: (operand) => [{ isReached: behind(operand), isPassed: behindType(operand) }],
  },
  gte: {
    test: (value, operand) => sameType(value, operand) && compareValues(value, operand) >= 0,
    ranges: (operand) => [{ isReached: from(operand), isPassed: behindType(operand) }],
  },
  in: {
    test: (value, operand) => (operand as JsonValue[]).some((one) => compareValues(value, one) === 0),
    ranges: (operand) => distinct(operand as JsonValue[]).map(exactly),
  },
  prefix: {
    test: startsWith,
    ranges: (operand) => [
      { isReached: from(operand), isPassed: (value) => from(operand)(value) && !startsWith(value, operand) },
    ],
  },
  exists: { test: (value, operand) => (value !== undefined) === operand },
};

/** The types of operands that an operator takes, where it does not take any JSON. */
const OPERANDS: Readonly<Record<string, (operand: unknown) => boolean>> = {
  in: Array.isArray,
  prefix: (operand) => typeof operand === 'string',
  exists: (operand) => typeof operand === 'boolean',
};

const EVERYTHING: CompiledWhere = { matches: () => true, ranges: [], isOneRange: true };

/** Compiles a condition. Throws `invalid_request` if it is malformed. */
export function compileWhere(where: unknown): CompiledWhere {
  if (where === undefined) return EVERYTHING;
  if (!isRecord(where)) throw malformed('a condition', 'an object', where);
  return allOf(Object.entries(where).map(([name, condition]) => compileMember(name, condition)));
}

function compileMember(name: string, condition: unknown): CompiledWhere {
  if (name === 'and') return allOf(listOf(name, condition));
  if (name === 'or') return scanned(anyOf(listOf(name, condition).map(({ matches }) => matches)));
  if (name === 'not') {
    const { matches } = compileWhere(condition);
    return scanned((attributes) => !matches(attributes));
  }
  const operators = isRecord(condition) ? Object.entries(condition) : [['eq', condition] as const];
  if (operators.length === 0) throw malformed(`the condition of "${name}"`, 'at least one operator', condition);
  return allOf(operators.map(([operator, operand]) => compileOperator(name, operator, operand)));
}

function compileOperator(path: string, name: string, operand: unknown): CompiledWhere {
  const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
  if (operator === undefined) {
    throw new ClientError('invalid_request', `"${path}": there is no operator "${name}" (${Object.keys(OPERATORS)})`);
  }
  const isTaken = Object.hasOwn(OPERANDS, name) ? OPERANDS[name]?.(operand) === true : operand !== undefined;
  if (!isTaken) throw malformed(`"${name}" of "${path}"`, 'another operand', operand);
  const [names, value] = [parsePath(path), operand as JsonValue];
  const ranges = operator.ranges?.(value);
  const matches = (attributes: Attributes) => operator.test(valueAt(attributes, names), value);
  if (ranges === undefined) return scanned(matches);
  return { matches, ranges: [{ path, operator: name, operand: value, ranges }], isOneRange: true };
}

/** A condition that no index answers. */
function scanned(matches: Matches): CompiledWhere {
  return { matches, ranges: [], isOneRange: false };
}

function listOf(name: string, conditions: unknown): readonly CompiledWhere[] {
  if (!Array.isArray(conditions)) throw malformed(`"${name}"`, 'an array of conditions', conditions);
  return conditions.map((condition) => compileWhere(condition ?? null));
}

function allOf(parts: readonly CompiledWhere[]): CompiledWhere {
  const tests = parts.map(({ matches }) => matches);
  const [only] = tests;
  const restricting = parts.filter((part) => part !== EVERYTHING);
  return {
    matches: tests.length === 1 && only ? only : (attributes) => tests.every((matches) => matches(attributes)),
    ranges: parts.flatMap(({ ranges }) => ranges),
    isOneRange: restricting.length === 0 || (restricting.length === 1 && restricting[0]?.isOneRange === true),
  };
}

function anyOf(tests: readonly Matches[]): Matches {
  return (attributes) => tests.some((matches) => matches(attributes));
}

function distinct(values: readonly JsonValue[]): readonly JsonValue[] {
  const sorted = [...values].sort(compareValues);
  return sorted.filter((value, index) => index === 0 || compareValues(value, sorted[index - 1]) !== 0);
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function malformed(what: string, expected: string, got: unknown): ClientError {
  return new ClientError('invalid_request', `${what}: expected ${expected}, got ${JSON.stringify(got) ?? typeof got}`);
}
