import { parseJson } from '@tidemark/protocol';
import { type Asked, CONDITION_OPERATORS, type ConditionOperator, type ObjectCondition } from './object-conditions.ts';

/** Filter and order of a table of objects, as the address says them. */
export interface ViewSearch {
  /** A text anywhere in the object. */
  readonly text?: string;
  /** A list of attribute, operator and value, as JSON. */
  readonly filter?: string;
  readonly sort?: string;
  readonly order?: string;
}

/** The column by which the rows are sorted. */
export interface Sorted {
  readonly column: string;
  readonly direction: 'asc' | 'desc';
}

export const WHOLE_VIEW: ViewSearch = { text: '', filter: '', sort: '', order: '' };

/** Writes what is asked for, and its order, as the address says it. */
export function writeView({ conditions, searched }: Asked, sorted: Sorted | null): ViewSearch {
  const lines = conditions.map(({ attribute, operator, value }) => [attribute, operator, value]);
  return {
    text: searched,
    filter: lines.length === 0 ? '' : JSON.stringify(lines),
    sort: sorted?.column ?? '',
    order: sorted?.direction === 'desc' ? 'desc' : '',
  };
}

/** Reads what an address asks for. What somebody has typed wrongly there is left out. */
export function readAsked({ text = '', filter = '' }: ViewSearch): Asked {
  return { conditions: readLines(filter).flatMap(readLine), searched: text };
}

export function readSorted({ sort = '', order }: ViewSearch): Sorted | null {
  return sort === '' ? null : { column: sort, direction: order === 'desc' ? 'desc' : 'asc' };
}

function readLines(text: string): readonly unknown[] {
  try {
    const lines = parseJson(text);
    return Array.isArray(lines) ? lines : [];
  } catch {
    return [];
  }
}

function readLine(line: unknown): readonly ObjectCondition[] {
  if (!Array.isArray(line)) return [];
  const [attribute, operator, value] = line as readonly unknown[];
  if (typeof attribute !== 'string' || typeof operator !== 'string' || typeof value !== 'string') return [];
  return isOperator(operator) ? [{ attribute, operator, value }] : [];
}

function isOperator(text: string): text is ConditionOperator {
  return Object.hasOwn(CONDITION_OPERATORS, text);
}
