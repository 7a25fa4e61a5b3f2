import { boundText, type Row, verdictOf } from './row.ts';

/** The rows as a table for people, followed by the reasons of known misses. */
export function tableOf(rows: readonly Row[]): string {
  const table = alignedTable([
    ['what', 'measured', 'against, in the same run', 'ratio', 'bound', ''],
    ...rows.map((row) => [row.name, row.measured, row.against, row.ratio.toFixed(2), boundText(row), verdictOf(row)]),
  ]);
  const missed = rows
    .filter((row) => verdictOf(row) === 'missed')
    .map(({ name, knownMiss }) => `${name}: ${knownMiss}`);
  return missed.length === 0 ? table : `${table}\n\nmissed, and known to be:\n${missed.join('\n')}`;
}

/** Cells in columns of equal width; the first line is the header. */
export function alignedTable(cells: readonly (readonly string[])[]): string {
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  const lines = cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [lines[0], widths.map((width) => '-'.repeat(width)).join('  '), ...lines.slice(1)].join('\n');
}
