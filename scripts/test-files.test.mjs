import { expect, it } from 'vitest';
import config from '../vitest.config.ts';
import { readTree } from './files.mjs';
import { ROOT } from './processes.mjs';
import { LONG_TESTS } from './test-files.mjs';

const LONG_FILES = '**/*.long.test.*';
const isLong = process.env.TIDEMARK_LONG_TESTS === '1';
const files = readTree(ROOT, ['packages', 'scripts', 'bench', 'examples'], /\.test\.(?:ts|mjs)$/);

it('[TEST-2] only the long run includes the test files that take long', () => {
  expect(config.test.exclude.includes(LONG_FILES)).toBe(!isLong);
  const left = [...files.keys()].filter((path) => path.includes('.long.test.'));
  expect(left.length).toBeGreaterThan(0);
  expect(left.filter((path) => !LONG_TESTS.some((part) => path.includes(part)))).toEqual([]);
});

it('[TEST-2] the long run includes every test file that does more in it', () => {
  const asksFor = /TIDEMARK_LONG_TESTS|\bIS_LONG\b|\bitLong\(/;
  const longer = [...files].filter(([, text]) => asksFor.test(text)).map(([path]) => path);
  const missing = longer.filter((path) => !LONG_TESTS.some((part) => path.includes(part)));
  expect(missing.filter((path) => !path.startsWith('scripts/test-files'))).toEqual([]);
  expect(LONG_TESTS.filter((part) => ![...files.keys()].some((path) => path.includes(part)))).toEqual([]);
});
