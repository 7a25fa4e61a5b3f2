import { type JsonValue, type ObjectFilter, parseJson } from '@tidemark/protocol';
import { InvalidArgumentError } from 'commander';

/** The longer ones first, because `>` also begins `>=`. */
const OPERATORS = [
  ['!=', 'ne'],
  ['<=', 'lte'],
  ['>=', 'gte'],
  ['^=', 'prefix'],
  ['=', 'eq'],
  ['<', 'lt'],
  ['>', 'gt'],
  ['~', 'contains'],
] as const;
const TEXT_OPERATORS: ReadonlySet<string> = new Set(['prefix', 'contains']);

/**
 * Adds a condition such as `total>=10`, `name~ada`, `name^=A`, `note` (it is set) or `!note` (it is not set) to a filter. A value
 * is read as JSON where it is JSON, and is a text otherwise. Spaces around the operator do not count.
 */
export function addCondition(text: string, filters: readonly ObjectFilter[] = []): readonly ObjectFilter[] {
  const { name, operator, operand } = conditionIn(text.trim());
  if (name === '') throw new InvalidArgumentError('It must be a condition such as total>=10, name~ada, note or !note.');
  return [...filters, { [name]: { [operator]: operand } }];
}

function conditionIn(text: string): { readonly name: string; readonly operator: string; readonly operand: JsonValue } {
  for (let at = 0; at < text.length; at++) {
    const found = OPERATORS.find(([sign]) => text.startsWith(sign, at));
    // A sign at the beginning is no operator: there would be no name.
    if (found === undefined || at === 0) continue;
    const [sign, operator] = found;
    const value = text.slice(at + sign.length).trimStart();
    return {
      name: text.slice(0, at).trimEnd(),
      operator,
      operand: TEXT_OPERATORS.has(operator) ? value : typed(value),
    };
  }
  const isUnset = text.startsWith('!');
  return { name: isUnset ? text.slice(1) : text, operator: 'exists', operand: !isUnset };
}

function typed(value: string): JsonValue {
  try {
    return parseJson(value) as JsonValue;
  } catch {
    return value;
  }
}
