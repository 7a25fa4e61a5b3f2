import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './processes.mjs';
import { readTests } from './rules.mjs';

const PAGE = readFileSync(join(ROOT, 'docs/explanation/guarantees.md'), 'utf8');

/** Rules that no named test of their row cites, and named tests that cite no rule of their row. */
function unproved(page, tests) {
  const rows = page.split('\n').filter((line) => /^\|.*rules\.md#/.test(line));
  return rows.flatMap((row) => {
    const rules = [...row.matchAll(/\[([A-Z-]+\d+)\]\(\.\.\/rules\.md#/g)].map(([, id]) => id);
    const files = [...row.matchAll(/\((?:\.\.\/){2}([^)]+)\)/g)].map(([, path]) => path);
    const cites = (path, id) => tests.get(path)?.includes(`[${id}]`) === true;
    return [
      ...rules.filter((id) => !files.some((path) => cites(path, id))),
      ...files.filter((path) => !rules.some((id) => cites(path, id))),
    ];
  });
}

it('[DOCS-6] every guarantee names rules, and tests that cite them', () => {
  expect(PAGE.match(/^\|.*rules\.md#/gm).length).toBeGreaterThan(20);
  expect(unproved(PAGE, readTests(ROOT))).toEqual([]);
});

it('[DOCS-6] a guarantee whose test does not cite its rule is found', () => {
  const row =
    '| a | [PAGE-1](../rules.md#page-1), [PAGE-2](../rules.md#page-2) | [x](../../x.test.ts), [y](../../y.test.ts) |';
  expect(unproved(row, new Map([['x.test.ts', "it('[PAGE-1] …"]]))).toEqual(['PAGE-2', 'y.test.ts']);
});
