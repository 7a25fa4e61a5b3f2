import { expect, it } from 'vitest';
import { CopyLog } from './copy-log.ts';

const COPYING = { table: 'public.orders', phase: 'copying', rows: 500, estimate: 2_000, rowsPerS: 900 } as const;

it('[PG-215] how far a copy is is logged when a phase begins, and every ten seconds', () => {
  let nowMs = 0;
  const log = new CopyLog({ nowMs: () => nowMs });
  const lines = [0, 9_999, 10_000, 10_001].map((atMs) => {
    nowMs = atMs;
    return log.lineOf({ ...COPYING, rows: 500 + atMs / 10 });
  });
  const line = { table: 'public.orders', phase: 'copying', rows_per_s: 900 };
  expect(lines).toEqual([{ ...line, rows: 500, percent: 25 }, null, { ...line, rows: 1_500, percent: 75 }, null]);
  expect(log.lineOf({ ...COPYING, table: 'public.lines', estimate: 0 })).toMatchObject({ percent: null });
  expect(log.lineOf({ ...COPYING, rows: 2_500 })).toBe(null);
  nowMs = 30_000;
  expect(log.lineOf({ ...COPYING, rows: 2_500 })).toMatchObject({ rows: 2_500, percent: 99 });
  expect(log.lineOf({ ...COPYING, phase: 'ready', rows: 2_500 })).toMatchObject({ phase: 'ready', percent: 100 });
});
