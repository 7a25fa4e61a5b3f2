import { expect, it } from 'vitest';
import { type PeerResult, pageOf } from './page.ts';

const RESULT: PeerResult = {
  day: '2026-01-02',
  machine: '2 cores',
  objects: 20_000,
  peers: [
    { name: 'Tidemark', setUp: '1.0.0', durability: 'flushed' },
    { name: 'Other', setUp: '2.0.0', durability: 'none' },
  ],
  rows: [
    { what: 'First sync', unit: 'ms', values: [4.368, 1_007.2] },
    { what: 'Memory', unit: 'MB', values: [181.4, 58.44] },
  ],
};

it('the page marks the best value of each row, and names every row in which Tidemark is not the best', () => {
  const page = pageOf(RESULT);
  expect(page).toContain('| First sync | ms | **4.37** | 1,007 |');
  expect(page).toContain('| Memory | MB | 181 | **58.4** |');
  expect(page).toContain('not the best in:\n  - Memory (MB): Other 58.4, Tidemark 181\n');
});

it('a page without losses says so', () => {
  const [first] = RESULT.rows;
  expect(pageOf({ ...RESULT, rows: first === undefined ? [] : [first] })).toContain(
    'no other server had a better value',
  );
});
