import { printable, printableLine } from './printable.ts';
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
