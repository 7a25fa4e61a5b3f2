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
