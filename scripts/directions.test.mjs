import { expect, it } from 'vitest';
import { directionProblems, foldersOf, readConfig, readImports, readTable, withRows } from './directions.mjs';

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

it('[TEST-21] no two folders of a package import each other, but for the pairs that the table lists', () => {
  expect(directionProblems(table, readImports())).toEqual([]);
});

it('[TEST-21] the check finds new pairs, pairs that are gone, and permissions for folders below', () => {
  const planted = {
    'packages/one': { folders: { a: [], b: ['a', 'c'], c: ['a'] } },
    'packages/two': { folders: { d: ['e'], e: ['d'] }, bothWays: [{ pair: ['d', 'e'], reason: 'a test' }] },
  };
  const imports = new Map([
    ['packages/one/src/a', new Set(['packages/one/src/b', 'packages/one/src/limits.ts'])],
    ['packages/one/src/b', new Set(['packages/one/src/a', 'packages/one/src/c'])],
    ['packages/two/src/d', new Set(['packages/two/src/e'])],
  ]);
  expect(directionProblems(planted, imports)).toEqual([
    'scripts/directions.json lets b of packages/one import c, which is not above it',
    'a and b of packages/one import each other',
    'd and e of packages/two do not import each other any more: remove them from scripts/directions.json',
  ]);
});

it('[TEST-21] the check reads the imports of the code, and not those of tests', () => {
  const devices = readImports().get('packages/core/src/devices');
  expect([devices.has('packages/core/src/accounts'), devices.has('packages/core/src/pages')]).toEqual([true, false]);
});
