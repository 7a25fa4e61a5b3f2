import { expect, it } from 'vitest';
import { foldersOf, readConfig, readTable, withRows } from './directions.mjs';

const table = readTable();

it('[TEST-20] biome.json has the rows that `node scripts/directions.mjs` writes', () => {
  expect(readConfig()).toBe(withRows(readConfig(), table));
});

it('[TEST-20] a folder that loses a permission gets another row', () => {
  const stricter = structuredClone(table);
  stricter['packages/core'].folders.documents.pop();
  expect(withRows(readConfig(), stricter)).not.toBe(readConfig());
});

it.each(Object.keys(table))('[TEST-20] the table names every folder of %s, and no other', (name) => {
  expect(Object.keys(table[name].folders).sort()).toEqual(foldersOf(name).sort());
});
