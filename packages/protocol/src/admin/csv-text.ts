/** Spreadsheets take a cell that begins so for a formula, and run it; some also take the full-width forms of the signs. */
const FORMULA = /^'*[=+\-@\t\r\n＝＋－＠]/;
const MARKED = /^'(?='*[=+\-@\t\r\n＝＋－＠])/;

/** Returns a text as spreadsheets show it and do not run it: an apostrophe marks it as a text. */
export function asText(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text;
}

/** Whether the text of a cell is marked as a text. */
export function isMarked(cell: string): boolean {
  return MARKED.test(cell);
}

export function withoutMark(cell: string): string {
  return cell.replace(MARKED, '');
}

/** Returns a row of a CSV, quoted as RFC 4180 says. Texts are marked so that no spreadsheet runs them. */
export function csvRow(values: readonly unknown[]): string {
  return `${values.map((value) => csvCell(value ?? '')).join(',')}\r\n`;
}

function csvCell(value: unknown): string {
  const text = typeof value === 'string' ? asText(value) : JSON.stringify(value);
  return /[",;\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
