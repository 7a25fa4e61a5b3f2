import { type JsonValue, parseJson } from '@tidemark/protocol';
import { filesOf, filesText } from '../components/file-facts.ts';

/** Longer values are cut off in the table. */
const SHOWN_UNITS = 200;

export type CellValue = JsonValue | undefined;
export type CellKind = 'missing' | 'null' | 'number' | 'boolean' | 'date' | 'text' | 'file' | 'json';

const DATE = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d))?$/;

export function valueIn(
  { attributes }: { readonly attributes: Readonly<Record<string, unknown>> },
  name: string,
): CellValue {
  return (Object.hasOwn(attributes, name) ? attributes[name] : undefined) as CellValue;
}

export function kindOf(value: CellValue): CellKind {
  if (value === undefined) return 'missing';
  if (value === null) return 'null';
  if (typeof value === 'number') return 'number';
  if (typeof value === 'boolean') return 'boolean';
  if (typeof value === 'object') return filesOf(value) === null ? 'json' : 'file';
  return DATE.test(value) && !Number.isNaN(Date.parse(value)) ? 'date' : 'text';
}

/** The text of a value in the table: times are those of this place. */
export function shownText(value: CellValue): string {
  if (value === undefined) return '';
  const files = filesOf(value);
  if (files !== null) return filesText(files).slice(0, SHOWN_UNITS);
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (kindOf(value) === 'date' && text.includes('T'))
    return new Date(text).toLocaleString(undefined, { dateStyle: 'short', timeStyle: 'short' });
  return text.slice(0, SHOWN_UNITS);
}

/** The text in the field of a cell. */
export function editedText(value: CellValue): string {
  if (value === undefined) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** A field of one line would cut long texts off and join their lines; those, lists and objects are edited as JSON. */
export function isEditedInPlace(value: CellValue): boolean {
  if (typeof value === 'string') return value.length <= SHOWN_UNITS && !/[\r\n]/.test(value);
  return typeof value !== 'object' || value === null;
}

export type ParsedCell = { readonly value: CellValue } | { readonly problem: string };

/** Reads what was typed into a cell: a value keeps its type, and a new one is JSON where it is a number, true, false or null. */
export function parseCell(old: CellValue, text: string): ParsedCell {
  if (typeof old === 'string') return { value: text };
  const parsed = jsonIn(text);
  if (typeof old === 'number') {
    return typeof parsed === 'number' ? { value: parsed } : { problem: 'It must be a number.' };
  }
  if (typeof old === 'boolean') {
    return typeof parsed === 'boolean' ? { value: parsed } : { problem: 'It must be true or false.' };
  }
  if (text === '' && old === undefined) return { value: undefined };
  const isPlain = parsed === null || typeof parsed === 'number' || typeof parsed === 'boolean';
  return { value: isPlain ? parsed : text };
}

function jsonIn(text: string): JsonValue | undefined {
  try {
    return parseJson(text) as JsonValue;
  } catch {
    return undefined;
  }
}
