import { isKept, type Row } from './row.ts';

/** The rows as a table for people. */
export function tableOf(rows: readonly Row[]): string {
  const cells = [
    ['what', 'measured', 'against, in the same run', 'ratio', 'bound', ''],
    ...rows.map((row) => [
      row.name,
      row.measured,
      row.against,
      row.ratio.toFixed(2),
      boundText(row),
      isKept(row) ? 'kept' : 'BROKEN',
    ]),
  ];
  const widths = cells[0]?.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))) ?? [];
  const lines = cells.map((line) =>
    line
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd(),
  );
  return [lines[0], widths.map((width) => '-'.repeat(width)).join('  '), ...lines.slice(1)].join('\n');
}

function boundText({ bound }: Row): string {
  return 'atMost' in bound ? `≤ ${bound.atMost}` : `≥ ${bound.atLeast}`;
}
