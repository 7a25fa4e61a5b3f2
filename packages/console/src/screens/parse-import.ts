import { type JsonValue, parseJson } from '@tidemark/protocol';
import { isMarked, withoutMark } from '@tidemark/protocol/admin/csv-text';

type Attributes = Readonly<Record<string, JsonValue>>;

export type Columns = readonly string[];

/** How the columns of a CSV become objects. */
export interface Mapping {
  /** The column with the id; empty: the first. */
  readonly id: string;
  /** Columns that are left out. */
  readonly left: readonly string[];
}

export interface Parsed {
  readonly objects: ReadonlyMap<string, Attributes>;
  /** What is wrong with the text; null: nothing. */
  readonly problem: string | null;
}

const NOTHING: ReadonlyMap<string, Attributes> = new Map();

/** Returns the names of the columns of a CSV; null if the text is JSON, empty, or wrong. */
export function columnsIn(text: string): Columns | null {
  if (text.trim() === '' || isJson(text)) return null;
  try {
    const { value: names = [] } = rowsIn(text).next();
    return [...new Set(names.map(withoutMark))].filter((name) => name !== '');
  } catch {
    return null;
  }
}

/** Reads objects from JSON (objects by id, or a list of objects with an `id`), or from CSV. */
export function objectsIn(text: string, mapping: Mapping): Parsed {
  try {
    return { objects: isJson(text) ? fromJson(text) : fromCsv(text, mapping), problem: null };
  } catch (error) {
    return { objects: NOTHING, problem: error instanceof Error ? error.message : String(error) };
  }
}

function isJson(text: string): boolean {
  return /^\s*[[{]/.test(text);
}

function fromJson(text: string): ReadonlyMap<string, Attributes> {
  const value = parseJson(text) as JsonValue;
  const entries = Array.isArray(value) ? value.map(listed) : Object.entries(value as object);
  return new Map(
    entries.map(([id, attributes]) => {
      if (isAttributes(attributes)) return [id, attributes];
      throw new Error(`Object ${JSON.stringify(id)}: an object of attributes is expected.`);
    }),
  );
}

function listed(value: JsonValue, index: number): readonly [string, JsonValue] {
  if (!isAttributes(value)) throw new Error(`Item ${index + 1} of the list is not an object.`);
  const { id, ...attributes } = value;
  if (typeof id !== 'string' && typeof id !== 'number') throw new Error(`Item ${index + 1} of the list has no “id”.`);
  return [String(id), attributes];
}

function isAttributes(value: unknown): value is Attributes {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function fromCsv(text: string, { id, left }: Mapping): ReadonlyMap<string, Attributes> {
  const [titles = [], ...rows] = rowsIn(text);
  const columns = titles.map(withoutMark);
  const idAt = id === '' ? 0 : columns.indexOf(id);
  return new Map(
    rows.map((cells, index) => {
      const key = withoutMark(cells[idAt] ?? '');
      if (key === '') throw new Error(`Line ${index + 2} has no id.`);
      if (cells.length > columns.length) throw new Error(`Line ${index + 2} has more cells than there are columns.`);
      const members = columns
        .map((name, at) => [name, cells[at] ?? ''] as const)
        .filter(([name, cell], at) => at !== idAt && cell !== '' && !left.includes(name));
      return [key, Object.fromEntries(members.map(([name, cell]) => [name, typedValue(cell)]))];
    }),
  );
}

/** Numbers and truth values are recognised where their spelling leaves no doubt: 007 and 1.0 stay texts. */
function typedValue(cell: string): JsonValue {
  if (isMarked(cell)) return withoutMark(cell);
  if (cell === 'true' || cell === 'false') return cell === 'true';
  const number = Number(cell);
  return Number.isFinite(number) && String(number) === cell ? number : cell;
}

/** Yields the rows of a CSV (RFC 4180); the separator is a comma, or a semicolon if the first line has no comma. */
function* rowsIn(text: string): Generator<readonly string[], undefined> {
  const firstLine = text.slice(0, text.indexOf('\n') === -1 ? text.length : text.indexOf('\n'));
  const separator = !firstLine.includes(',') && firstLine.includes(';') ? ';' : ',';
  let row: string[] = [];
  for (let at = 0; at <= text.length; ) {
    const { value, end } = readCell(text, at, separator);
    row.push(value);
    const isRowEnd = text[end] !== separator;
    if (isRowEnd && !(row.length === 1 && row[0] === '')) yield row;
    if (isRowEnd) row = [];
    at = text[end] === '\r' && text[end + 1] === '\n' ? end + 2 : end + 1;
  }
}

function readCell(text: string, at: number, separator: string): { readonly value: string; readonly end: number } {
  if (text[at] !== '"') {
    let end = at;
    while (end < text.length && text[end] !== separator && text[end] !== '\n' && text[end] !== '\r') end++;
    return { value: text.slice(at, end).trim(), end };
  }
  let end = at + 1;
  while (end < text.length && (text[end] !== '"' || text[end + 1] === '"')) end += text[end] === '"' ? 2 : 1;
  if (end >= text.length) throw new Error('A quotation mark is not closed.');
  return { value: text.slice(at + 1, end).replaceAll('""', '"'), end: end + 1 };
}
