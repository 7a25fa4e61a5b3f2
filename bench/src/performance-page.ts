import { chartFile } from './charts.ts';
import { type Results, rowsOf } from './results.ts';
import { boundText, type Row, verdictOf } from './row.ts';

/** The page of the documentation, in Markdown. */
export function performancePage(results: Results): string {
  const { day, machine, parts } = results;
  const rows = rowsOf(results);
  const charts = rows.filter(({ curve }) => curve !== undefined);
  const missed = rows.filter((row) => verdictOf(row) !== 'kept');
  return `# Performance

\`npm run bench -- --docs\` measures Tidemark on your machine and writes this page with its charts. Absolute times mean little on a shared machine, so
every row compares two things that were measured in turns in the same run: an operation with the bare library below it, a large document with a small
one, a pull with a route that only sends bytes. Most times are CPU time. [Measured beside other servers](peers.md) compares Tidemark with others.

These numbers were measured on ${day} (${machine}). Parts of \`npm run bench\` that are missing below were not measured then.

${growthSection(charts)}## All rows

A ratio with ≤ is a cost and should be low; one with ≥ is a speed as a share of the limit and should be high. A bound that is missed is marked.

${Object.entries(parts)
  .map(([part, partRows]) => `### ${capitalised(part)}\n\n${tableOf(partRows)}\n`)
  .join('\n')}
## Bounds that are missed

${missed.length === 0 ? 'None in this run.' : missed.map((row) => `- **${row.name}** (${row.ratio.toFixed(2)}, bound ${boundText(row)}): ${row.knownMiss ?? 'not expected; the machine may have been busy.'}`).join('\n')}
`;
}

function growthSection(charts: readonly Row[]): string {
  if (charts.length === 0) return '';
  const images = charts.map(
    ({ name, measured }) => `![${capitalised(name)}: ${measured}](../images/${chartFile(name)})`,
  );
  return `## Growth

The cost of a sync follows from what has changed, not from how much there is. The exponent is fitted to all sizes: 0 means that the size does not
matter, 1 that the cost is proportional to it.

${images.join('\n\n')}

`;
}

function tableOf(rows: readonly Row[]): string {
  const lines = rows.map((row) => {
    const verdict = verdictOf(row) === 'kept' ? '' : ' **missed**';
    return `| ${row.name} | ${row.measured} | ${row.against} | ${row.ratio.toFixed(2)} | ${boundText(row)}${verdict} |`;
  });
  return ['| What | Measured | Against, in the same run | Ratio | Bound |', '|---|---|---|---|---|', ...lines].join(
    '\n',
  );
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
