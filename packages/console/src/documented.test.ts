import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

const read = (path: string) => readFileSync(new URL(path, import.meta.url), 'utf8');

it('[DOCS-43] the page about the console describes every screen of the menu, in its order', () => {
  const titles = [...read('components/shell.tsx').matchAll(/\bto: '[^']*', title: '([^']+)'/g)].map(
    ([, title]) => title,
  );
  const [, table = ''] = read('../../../docs/operating/console.md').split('## Screens\n');
  const rows = [...(table.split('\n## ')[0] ?? '').matchAll(/^\| (\w+) \| [^-]/gm)].map(([, title]) => title);
  expect(titles.length).toBeGreaterThan(10);
  expect(rows.filter((title) => title !== 'Screen')).toEqual(titles);
});
