import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Row } from './row.ts';
import { alignedTable } from './table.ts';

/** What a run of the benchmarks has measured. */
export interface Results {
  /** When the last part was measured. */
  readonly day: string;
  readonly machine: string;
  /** Rows by part, in the order in which the parts were measured. */
  readonly parts: Readonly<Record<string, readonly Row[]>>;
}

export function readResults(file: string): Results {
  return JSON.parse(readFileSync(file, 'utf8')) as Results;
}

/** Replaces the measured parts in the file and keeps the others, so that a part can be measured again alone. */
export function saveResults(file: string, measured: Results): Results {
  const parts = existsSync(file) ? { ...readResults(file).parts, ...measured.parts } : measured.parts;
  const results = { ...measured, parts };
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `${JSON.stringify(results, null, 2)}\n`);
  return results;
}

export function rowsOf({ parts }: Results): readonly Row[] {
  return Object.values(parts).flat();
}

/** Compares two runs row by row. Ratios are compared, since they depend less on the machine than times do. */
export function comparisonOf(old: Results, next: Results): string {
  const before = new Map(rowsOf(old).map((row) => [row.name, row]));
  const after = rowsOf(next);
  const names = new Set(after.map(({ name }) => name));
  const gone = rowsOf(old).filter(({ name }) => !names.has(name));
  return alignedTable([
    ['what', 'old', 'new', 'old ratio', 'new ratio', 'new/old'],
    ...after.map((row) => {
      const earlier = before.get(row.name);
      if (earlier === undefined) return [row.name, '', row.measured, '', row.ratio.toFixed(2), 'new'];
      const change = earlier.ratio === 0 ? '' : (row.ratio / earlier.ratio).toFixed(2);
      return [row.name, earlier.measured, row.measured, earlier.ratio.toFixed(2), row.ratio.toFixed(2), change];
    }),
    ...gone.map((row) => [row.name, row.measured, '', row.ratio.toFixed(2), '', 'gone']),
  ]);
}
