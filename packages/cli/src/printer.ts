import type { Terminal } from './terminal.ts';

type Cells = Readonly<Record<string, unknown>>;

/** Prints answers as text for people or as JSON for programs. */
export class Printer {
  readonly #terminal: Terminal;
  readonly isJson: boolean;

  constructor(terminal: Terminal, isJson: boolean) {
    this.#terminal = terminal;
    this.isJson = isJson;
  }

  /** Prints one name per line. */
  names(names: readonly string[]): void {
    if (this.isJson) this.json(names);
    else this.#lines(names.map(printableLine));
  }

  /** Prints name and value, one pair per line. */
  record(record: object): void {
    if (this.isJson) this.json(record);
    else this.#lines(pairs(Object.entries(record)));
  }

  /** Prints a table with a header. */
  table(rows: readonly object[], columns: readonly string[]): void {
    if (this.isJson) this.json(rows);
    else if (rows.length > 0) this.#lines(aligned(rows, columns));
  }

  /** Prints text unchanged; on a terminal, control characters are escaped. */
  text(text: string): void {
    const shown = this.#terminal.isRead ? printable(text) : text;
    this.#terminal.out(this.#terminal.isRead && !shown.endsWith('\n') ? `${shown}\n` : shown);
  }

  /** Prints JSON text without parsing it, so that numbers keep all digits. */
  jsonText(text: string): void {
    this.#terminal.out(text.endsWith('\n') ? text : `${text}\n`);
  }

  json(value: unknown): void {
    this.#terminal.out(`${JSON.stringify(value, null, 2)}\n`);
  }

  #lines(lines: readonly string[]): void {
    if (lines.length > 0) this.#terminal.out(`${lines.map((line) => line.trimEnd()).join('\n')}\n`);
  }
}

function pairs(members: readonly (readonly [string, unknown])[]): readonly string[] {
  const names = members.map(([name]) => printableLine(name));
  const width = longest(names);
  return members.map(([, value], index) => `${(names[index] ?? '').padEnd(width)}  ${cell(value)}`);
}

function aligned(rows: readonly object[], columns: readonly string[]): readonly string[] {
  const cells = rows.map((row) => columns.map((column) => cell((row as Cells)[column])));
  const all = [columns.map((column) => column.toUpperCase()), ...cells];
  const widths = columns.map((_, index) => longest(all.map((line) => line[index] ?? '')));
  return all.map((line) => line.map((text, index) => text.padEnd(widths[index] ?? 0)).join('  '));
}

function longest(texts: readonly string[]): number {
  return texts.reduce((most, { length }) => Math.max(most, length), 0);
}

function cell(value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'string') return printableLine(value);
  if (Array.isArray(value) && value.every((one) => typeof one === 'string')) return printableLine(value.join(', '));
  return printableLine(JSON.stringify(value));
}

/** Escapes control characters, so that text from a server cannot move the cursor or change colours. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: it is control characters that are looked for.
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g, escaped);
}

/** Does the same and escapes line breaks. */
function printableLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, escaped);
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
}
