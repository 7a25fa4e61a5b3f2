import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from './processes.mjs';
import { sourceAliases } from './source-aliases.mjs';

const aliases = sourceAliases();

/** Returns the source of an import, relative to the root; null if none or several are found. */
function sourceOf(specifier) {
  const found = aliases.filter(({ find }) => find.test(specifier));
  return found.length === 1 ? specifier.replace(found[0].find, found[0].replacement).slice(ROOT.length + 1) : null;
}

it('[TEST-22] an import of a package is resolved to the source of the file that its manifest exports', () => {
  const specifiers = [
    '@tidemark/core',
    '@tidemark/core/ports',
    '@tidemark/server/workers/supervisor',
    '@tidemark/core/x',
  ];
  expect(specifiers.map(sourceOf)).toEqual([
    join('packages', 'core', 'src', 'index.ts'),
    join('packages', 'core', 'src', 'ports.ts'),
    join('packages', 'server', 'src', 'cluster', 'workers', 'supervisor.ts'),
    null,
  ]);
});

it.each(readdirSync(join(ROOT, 'packages')))('[TEST-22] every export of packages/%s has a source', (folder) => {
  const { name, exports = {} } = JSON.parse(readFileSync(join(ROOT, 'packages', folder, 'package.json'), 'utf8'));
  const specifiers = Object.keys(exports)
    .filter((entry) => !entry.includes('*'))
    .map((entry) => `${name}${entry.slice(1)}`);
  expect(specifiers.filter((specifier) => !existsSync(join(ROOT, sourceOf(specifier) ?? 'none')))).toEqual([]);
});
