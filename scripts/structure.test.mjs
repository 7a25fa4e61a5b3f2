import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { ROOT } from './processes.mjs';

// biome.json states the structure of the code: which package and folder imports which, and how large a function may be.
// Here every kind of rule meets a planted violation, so that a change of the configuration cannot switch it off unnoticed.

const MANY_LINES = `export function long() {\n${'  globalThis.x = 1;\n'.repeat(61)}}\n`;
const NESTED = `export function deep(a: number) {\n${'if (a > 1) {'.repeat(6)}${'}'.repeat(6)}\n}\n`;

/** Path of a file with a violation → its text, and the rule that must refuse it. */
const PLANTED = {
  'core/src/journal/a.ts': ["import '../pages/x.ts';", 'noRestrictedImports'],
  'core/src/journal/b.ts': ["export type { X } from '../pages/x.ts';", 'noRestrictedImports'],
  'core/src/journal/c.ts': ["export const x = import('../pages/x.ts');", 'noRestrictedImports'],
  'core/src/pages/d.ts': ["import type { X } from '../tidemark.ts';\nexport type Y = X;", 'noRestrictedImports'],
  'core/src/ports/store/e.ts': ["import '../../journal/x.ts';", 'noRestrictedImports'],
  'server/src/jobs/f.ts': ["import '../routes/x.ts';", 'noRestrictedImports'],
  'server/src/routes/sync/g.ts': ["import '../../cli/x.ts';", 'noRestrictedImports'],
  'server/src/routes/sync/g2.ts': ["import '../../compose.ts';", 'noRestrictedImports'],
  'server/src/http/g3.ts': ["import '../compose.ts';", 'noRestrictedImports'],
  'sim/src/model/g4.ts': ["import '../chaos/x.ts';", 'noRestrictedImports'],
  'server/src/http/h.ts': ["import '@tidemark/store-embedded';", 'noRestrictedImports'],
  'server/src/i.ts': ["import type { X } from '@tidemark/store-valkey';\nexport type Y = X;", 'noRestrictedImports'],
  'store-valkey/src/j.ts': ["import '@tidemark/core';", 'noRestrictedImports'],
  'client/src/pull/k.ts': ["import '../transport/x.ts';", 'noRestrictedImports'],
  'backend/src/handler/l.ts': ["import '../client/x.ts';", 'noRestrictedImports'],
  'console/src/api/l2.ts': ["import '../components/x.tsx';", 'noRestrictedImports'],
  'core/src/m.ts': ["import type { X } from '@tidemark/server';\nexport type Y = X;", 'noUndeclaredDependencies'],
  'protocol/src/n.ts': ["export const x = import('@tidemark/core/ports');", 'noUndeclaredDependencies'],
  'server/src/o.ts': ["import '@tidemark/testing';", 'noUndeclaredDependencies'],
  'core/src/p.ts': ["import 'node:fs';", 'noNodejsModules'],
  'backend/src/q.ts': ["import 'fs';", 'noNodejsModules'],
  'core/src/r.ts': ['setTimeout(() => {}, 1);', 'noRestrictedGlobals'],
  'client/src/s.ts': ['performance.mark("a");', 'noRestrictedGlobals'],
  'core/src/t.ts': ['export const x = Date.now();', 'plugin'],
  'core/src/u.ts': ['export const x = new Date();', 'plugin'],
  'client/src/v.ts': ['export const x = Math.random;', 'plugin'],
  'server/src/w.ts': ["export const x = JSON.parse('1');", 'plugin'],
  'core/src/one.ts': ["import type { B } from './two.ts';\nexport type A = B;", 'noImportCycles'],
  'core/src/two.ts': ["export type { A as B } from './one.ts';", 'noImportCycles'],
  'sim/src/x.ts': ['export const f = (a = 1, b = 1, c = 1, d = 1, e = 1) => [a, b, c, d, e];', 'useMaxParams'],
  'sim/src/y.ts': [MANY_LINES, 'noExcessiveLinesPerFunction'],
  'sim/src/z.ts': [NESTED, 'noExcessiveCognitiveComplexity'],
};

/** Path of a file that looks alike, and is right → its text. */
const ALLOWED = {
  'core/src/journal/ok.ts': "import '../ports/store/x.ts';\nimport './other.ts';",
  'core/src/ports/store/ok.ts': "import '../clock.ts';",
  'core/src/tidemark.ts': "import './pages/x.ts';\nimport '@tidemark/protocol';\nexport const x = new Date(1);",
  'core/src/pages/ok.test.ts': "import '../sync/x.ts';\nimport '@tidemark/testing';\nimport 'node:fs';\nDate.now();",
  'server/src/open-engines.ts': "import '@tidemark/store-embedded';",
  'server/src/routes/sync/ok.ts': "import '../../http/x.ts';\nimport '../y.ts';\nimport '../../limits.ts';",
  'store-valkey/src/ok.ts': "import '@tidemark/core/ports';\nimport 'node:fs';",
};

let found;
let messages;

beforeAll(() => {
  const root = mkdtempSync(join(tmpdir(), 'tidemark-structure-'));
  try {
    for (const path of ['biome.json', '.gitignore', 'package.json', 'scripts/lint']) {
      cpSync(join(ROOT, path), join(root, path), { recursive: true });
    }
    for (const name of readdirSync(join(ROOT, 'packages'))) {
      cpSync(join(ROOT, `packages/${name}/package.json`), join(root, `packages/${name}/package.json`));
    }
    const texts = Object.entries(PLANTED).map(([path, [text]]) => [path, text]);
    for (const [path, text] of [...texts, ...Object.entries(ALLOWED)]) {
      mkdirSync(dirname(join(root, 'packages', path)), { recursive: true });
      writeFileSync(join(root, 'packages', path), `${text}\n`);
    }
    const biome = join(ROOT, 'node_modules/@biomejs/biome/bin/biome');
    const args = [biome, 'lint', '--reporter=json', '--max-diagnostics=none', 'packages'];
    const { stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' });
    const { diagnostics } = JSON.parse(stdout);
    const fileOf = ({ location }) => location.path.replace(/^.*packages\//, '');
    found = diagnostics.map((diagnostic) => [fileOf(diagnostic), diagnostic.category.split('/').at(-1)]);
    messages = new Map(diagnostics.map((diagnostic) => [fileOf(diagnostic), diagnostic.message]));
  } finally {
    rmSync(root, { recursive: true, force: true });
  }
});

describe('the structure that biome.json states', () => {
  it.each(Object.entries(PLANTED))('refuses the violation planted in packages/%s', (path, [, rule]) => {
    expect(found).toContainEqual([path, rule]);
  });

  it.each(Object.keys(ALLOWED))('allows what packages/%s does', (path) => {
    expect(found.filter(([file]) => file === path)).toEqual([]);
  });

  it('[TEST-20] a refused import says what its folder may import', () => {
    expect([messages.get('client/src/pull/k.ts'), messages.get('core/src/ports/store/e.ts')]).toEqual([
      'packages/client/src/pull may import only: state, client-error.ts, limits.ts. See scripts/directions.json.',
      'packages/core/src/ports may import no other folder. See scripts/directions.json.',
    ]);
  });
});
