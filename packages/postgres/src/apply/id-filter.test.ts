import { expect, it } from 'vitest';
import { IdFilter } from './id-filter.ts';

it('[PG-350] a filter knows every id that was added, and takes few others for one of them', () => {
  const filter = new IdFilter();
  const ids = (from: number, count: number) => Array.from({ length: count }, (_, n) => String(from + n));
  for (const id of ids(0, 30_000)) filter.add(id);
  expect(ids(0, 30_000).every((id) => filter.mayHave(id))).toBe(true);
  expect(ids(1_000_000, 20_000).filter((id) => filter.mayHave(id)).length).toBeLessThan(20);
});
