import { expect, it } from 'vitest';
import { countWords, readEnough } from './scanned-pages.ts';

const page = (rows: readonly number[], next: string | null) => ({ rows, total: 50, examined: 10, next });
const rowsOf = ({ rows }: { readonly rows: readonly number[] }) => rows;

it('[CONSOLE-70] empty pages are read on until there are enough rows or no more entries', async () => {
  const asked: (string | null)[] = [];
  const pages = [page([], 'a'), page([1], 'b'), page([2, 3], 'c'), page([4], null)];
  const read = async (after: string | null) => {
    asked.push(after);
    return pages[asked.length - 1] ?? page([], null);
  };
  expect(await readEnough(read, { rowsOf, wanted: 2, after: null })).toEqual({
    ...{ rows: [1, 2, 3], examined: 30, total: 50, next: 'c' },
  });
  expect(await readEnough(read, { rowsOf, wanted: 2, after: 'c' })).toEqual({
    ...{ rows: [4], examined: 10, total: 50, next: null },
  });
  expect(asked).toEqual([null, 'a', 'b', 'c']);
});

it('[CONSOLE-70] a search without results ends after a bounded number of calls', async () => {
  let calls = 0;
  const read = async () => page([], String(++calls));
  expect(await readEnough(read, { rowsOf, wanted: 1, after: null })).toMatchObject({ examined: 200, next: '20' });
});

it('[CONSOLE-70] the words say how many rows are shown, and how far a search has got', () => {
  const rows = (count: number, next: string | null, examined = count) => {
    return { rows: new Array(count).fill(0), total: 5_000, examined, next };
  };
  expect(countWords([rows(100, 'x')], 'device', false)).toBe('100 of 5,000 devices');
  expect(countWords([{ rows: [1], total: 1, examined: 1, next: null }], 'device', false)).toBe('1 device');
  expect(countWords([rows(3, null, 5_000)], 'user', true)).toBe('3 of 5,000 users found');
  expect(countWords([rows(0, 'x', 2_000), rows(2, 'y', 1_000)], 'device', true)).toBe(
    '2 found among the first 3,000 of 5,000 devices',
  );
});
