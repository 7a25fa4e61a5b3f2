import { type JsonValue, type ObjectFilter, parseJson } from '@tidemark/protocol';

/** One line of the filter bar. */
export interface ObjectCondition {
  /** The name of an attribute; `ID_FIELD`: the id. */
  readonly attribute: string;
  readonly operator: ConditionOperator;
  readonly value: string;
}

/** What is asked for. */
export interface Asked {
  readonly conditions: readonly ObjectCondition[];
  /** A text anywhere in the object. */
  readonly searched: string;
}

export const NOTHING_ASKED: Asked = { conditions: [], searched: '' };

/** No attribute has this name. */
export const ID_FIELD = '*id';

export const CONDITION_OPERATORS = {
  is: 'is',
  is_not: 'is not',
  contains: 'contains',
  prefix: 'starts with',
  lt: '<',
  lte: '≤',
  gt: '>',
  gte: '≥',
  set: 'is set',
  not_set: 'is not set',
} as const;
export type ConditionOperator = keyof typeof CONDITION_OPERATORS;

export function needsValue(operator: ConditionOperator): boolean {
  return operator !== 'set' && operator !== 'not_set';
}

/** Returns the filter for the server; undefined: nothing is asked for. Lines without an attribute are not complete. */
export function filterOf(
  conditions: readonly ObjectCondition[],
  searched: string,
): readonly ObjectFilter[] | undefined {
  const complete = conditions.filter(({ attribute }) => attribute !== '');
  const parts = complete.flatMap(partsOf);
  const all = searched === '' ? parts : [...parts, { '*': { contains: searched } }];
  return all.length === 0 ? undefined : all;
}

/** The path of an attribute, whose name may contain what has a meaning in paths. */
export function pathOf(attribute: string): string {
  if (attribute === ID_FIELD) return '@id';
  return attribute.replace(/[\\.]/g, '\\$&').replace(/^(?=@|\*|(?:and|or|not)$)/, '\\');
}

function partsOf({ attribute, operator, value }: ObjectCondition): readonly ObjectFilter[] {
  const path = pathOf(attribute);
  const values = attribute === ID_FIELD ? [value] : meanings(value);
  if (operator === 'set' || operator === 'not_set') return [{ [path]: { exists: operator === 'set' } }];
  if (operator === 'is') return [{ [path]: { in: values } }];
  if (operator === 'is_not') return values.map((one) => ({ [path]: { ne: one } }));
  if (operator === 'contains' || operator === 'prefix') return [{ [path]: { [operator]: value } }];
  const [first = value] = values;
  return [{ [path]: { [operator]: typeof first === 'number' ? first : value } }];
}

/** What a typed value may stand for: `7` is a number or a text. */
function meanings(value: string): readonly JsonValue[] {
  try {
    const parsed = parseJson(value) as JsonValue;
    return typeof parsed === 'string' ? [parsed] : [parsed, value];
  } catch {
    return [value];
  }
}
