import { describe, expect, it } from 'vitest';
import { formatViolation, readSources, violationsOf } from './directions.mjs';
import { ROOT } from './processes.mjs';

function found(files) {
  return violationsOf(new Map(Object.entries(files))).map(formatViolation);
}

/** A file that imports one thing, on its second line. */
function importing(specifier) {
  return `// The import follows.\nimport type { X } from '${specifier}';\n`;
}

it('the tree goes the right way', () => {
  expect(violationsOf(readSources(ROOT)).map(formatViolation)).toEqual([]);
});

it('the tree that is looked at has files of every kind', () => {
  const paths = [...readSources(ROOT).keys()];
  for (const path of ['packages/core/src/index.ts', 'packages/protocol/src/limits.ts', 'scripts/directions.mjs']) {
    expect(paths).toContain(path);
  }
});

describe('package-direction', () => {
  it.each([
    ['protocol', 'core', 'protocol may import nothing; this imports core'],
    ['core', 'store-embedded', 'core may import protocol; this imports store-embedded'],
    ['core', 'client', 'core may import protocol; this imports client'],
    ['store-embedded', 'store-valkey', 'store-embedded may import core, protocol; this imports store-valkey'],
    ['store-valkey', 'backend', 'store-valkey may import core, protocol; this imports backend'],
    ['server', 'console', 'server may import core, protocol, store-*, client; this imports console'],
    ['server', 'backend', 'server may import core, protocol, store-*, client; this imports backend'],
    ['client', 'core', 'client may import protocol; this imports core'],
    ['backend', 'core', 'backend may import protocol; this imports core'],
    ['console', 'client', 'console may import backend, protocol; this imports client'],
  ])('%s must not import %s', (from, to, detail) => {
    const file = `packages/${from}/src/thing.ts`;
    expect(found({ [file]: importing(`@tidemark/${to}`) })).toEqual([`${file}:2 [package-direction] ${detail}`]);
  });

  it.each([
    ['core', 'protocol'],
    ['store-embedded', 'core/ports'],
    ['store-valkey', 'protocol'],
    ['server', 'core'],
    ['client', 'protocol'],
    ['server', 'client'],
    ['backend', 'protocol'],
    ['console', 'backend'],
    ['testing', 'server'],
    ['testing', 'store-embedded'],
  ])('%s may import %s', (from, to) => {
    expect(found({ [`packages/${from}/src/thing.ts`]: importing(`@tidemark/${to}`) })).toEqual([]);
  });

  it('bench may import every package, server and testing included', () => {
    const text = ['core', 'server', 'testing', 'store-valkey'].map((name) => importing(`@tidemark/${name}`)).join('');
    expect(found({ 'bench/src/main.ts': text })).toEqual([]);
  });

  it.each(['server', 'testing'])('only tests import %s', (name) => {
    expect(
      found({
        'packages/core/src/pages/page.ts': importing(`@tidemark/${name}`),
        'packages/core/src/pages/page.test.ts': importing(`@tidemark/${name}`),
        'scripts/check.mjs': importing(`@tidemark/${name}`),
        'scripts/check.test.mjs': importing(`@tidemark/${name}`),
      }),
    ).toEqual([
      `packages/core/src/pages/page.ts:2 [package-direction] only tests may import ${name}, and this file of core is none`,
      `scripts/check.mjs:2 [package-direction] only tests may import ${name}, and this file of scripts is none`,
    ]);
  });

  it('a package does not import itself by name', () => {
    expect(found({ 'packages/core/src/tidemark.ts': importing('@tidemark/core') })).toEqual([
      'packages/core/src/tidemark.ts:2 [package-direction] core imports itself by name; inside a package imports are relative',
    ]);
  });

  it.each([
    ["import { x } from '@tidemark/core';"],
    ["import '@tidemark/core';"],
    ["import type { X } from '@tidemark/core';"],
    ["import {\n  x,\n  y,\n} from '@tidemark/core';"],
    ["export * from '@tidemark/core';"],
    ["export type { X } from '@tidemark/core';"],
    ["const x = await import('@tidemark/core');"],
    ["let x: import('@tidemark/core').X;"],
    ["const x = require('@tidemark/core');"],
    ['import { x } from "@tidemark/core";'],
    ['const x = await import(`@tidemark/core`);'],
    ["const a = /['\"`]/;\nimport { x } from '@tidemark/core';"],
    [`const a = \`\${b ? \`}\` : "\`"}\`;\nimport { x } from "@tidemark/core";`],
  ])('sees the import in %s', (text) => {
    expect(found({ 'packages/protocol/src/thing.ts': text })).toHaveLength(1);
  });

  it.each([
    ["// import { x } from '@tidemark/core';"],
    ["/* import { x }\n from '@tidemark/core'; */"],
    ["const text = `import x from '@tidemark/core'`;"],
    ['const text = "import x from \'@tidemark/core\'";'],
    ["const from = Array.from('@tidemark/core');"],
  ])('sees no import in %s', (text) => {
    expect(found({ 'packages/protocol/src/thing.ts': text })).toEqual([]);
  });
});

describe('engines-in-one-file', () => {
  it('only open-engines.ts of the server may import an engine', () => {
    expect(
      found({
        'packages/server/src/open-engines.ts': importing('@tidemark/store-embedded'),
        'packages/server/src/http.ts': importing('@tidemark/store-valkey'),
      }),
    ).toEqual([
      'packages/server/src/http.ts:2 [engines-in-one-file] only packages/server/src/open-engines.ts may import an engine; this imports store-valkey',
    ]);
  });
});

describe('engines-know-ports', () => {
  it('an engine knows nothing of the core but its ports; its tests may', () => {
    expect(
      found({
        'packages/store-embedded/src/commit.ts': importing('@tidemark/core'),
        'packages/store-embedded/src/commit.test.ts': importing('@tidemark/core'),
        'packages/store-valkey/src/commit.ts': importing('@tidemark/core/ports'),
      }),
    ).toEqual([
      'packages/store-embedded/src/commit.ts:2 [engines-know-ports] of the core, an engine knows @tidemark/core/ports alone',
    ]);
  });
});

describe('package-inside', () => {
  it.each([
    ['packages/server/src/http.ts', '../../core/src/pages/page.ts', 'core: packages/core/src/pages/page.ts'],
    ['packages/testing/src/kit.ts', '../../core/dist/index.js', 'core: packages/core/dist/index.js'],
    ['bench/src/main.ts', '../../packages/core/src/index.ts', 'core: packages/core/src/index.ts'],
    ['packages/core/src/pages/page.test.ts', '../../../testing/src/kit.ts', 'testing: packages/testing/src/kit.ts'],
    ['scripts/check.mjs', '../packages/protocol/src/limits.ts', 'protocol: packages/protocol/src/limits.ts'],
    ['packages/server/src/http.ts', '@tidemark/core/src/pages/page.ts', 'core: src/pages/page.ts'],
  ])('%s does not import %s', (file, specifier, inside) => {
    expect(found({ [file]: importing(specifier) })).toEqual([
      `${file}:2 [package-inside] this reaches into the inside of ${inside}`,
    ]);
  });
});

describe('room-direction', () => {
  const rooms = {
    ports: [],
    primitives: ['ports'],
    journal: ['ports'],
    admission: ['ports', 'primitives', 'journal'],
    documents: ['ports', 'primitives', 'admission', 'journal'],
    pages: ['ports', 'journal'],
    entries: ['ports', 'primitives', 'admission'],
    sources: ['ports', 'primitives', 'admission', 'entries'],
    accounts: ['ports', 'primitives', 'admission', 'entries', 'sources'],
    devices: ['ports', 'primitives', 'admission', 'entries', 'accounts'],
    stats: ['ports'],
    system: ['ports', 'primitives', 'entries', 'sources', 'accounts', 'devices'],
    uploads: ['ports', 'documents', 'admission', 'journal', 'pages'],
    refresh: ['ports', 'primitives', 'admission', 'entries', 'sources'],
    search: ['ports', 'admission', 'journal', 'sources'],
    sync: [
      'ports',
      'primitives',
      'admission',
      'journal',
      'pages',
      'entries',
      'sources',
      'accounts',
      'devices',
      'uploads',
      'refresh',
    ],
    pings: ['ports', 'primitives', 'entries', 'sources', 'devices'],
    moving: ['ports', 'journal'],
  };
  const pairs = Object.keys(rooms).flatMap((from) => Object.keys(rooms).map((to) => [from, to]));

  it.each(pairs.filter(([from, to]) => from !== to && !rooms[from].includes(to)))(
    '%s must not import %s',
    (from, to) => {
      const allowed = rooms[from].length === 0 ? 'nothing' : rooms[from].join(', ');
      expect(found({ [`packages/core/src/${from}/thing.ts`]: importing(`../${to}/other.ts`) })).toEqual([
        `packages/core/src/${from}/thing.ts:2 [room-direction] ${from} may import ${allowed}; this imports ${to}`,
      ]);
    },
  );

  it.each(pairs.filter(([from, to]) => from === to || rooms[from].includes(to)))('%s may import %s', (from, to) => {
    const text = importing(`../${to}/other.ts`) + importing('@tidemark/protocol');
    expect(found({ [`packages/core/src/${from}/thing.ts`]: text })).toEqual([]);
  });

  it('no room imports the facade, the facade imports every room', () => {
    expect(
      found({
        'packages/core/src/pages/page.ts': importing('../tidemark.ts'),
        'packages/core/src/entries/entries.ts': '',
        'packages/core/src/tidemark.ts': Object.keys(rooms)
          .map((room) => importing(`./${room}/thing.ts`))
          .join(''),
      }),
    ).toEqual([
      'packages/core/src/pages/page.ts:2 [room-direction] pages may import ports, journal; this imports the facade (packages/core/src/tidemark.ts)',
    ]);
  });
});

describe('known-package and known-room', () => {
  it('what has no row is told, not allowed silently', () => {
    expect(found({ 'packages/extra/src/a.ts': '', 'packages/core/src/utils/b.ts': '' })).toEqual([
      'packages/extra/src/a.ts:1 [known-package] the package extra has no row in scripts/directions.mjs',
      'packages/core/src/utils/b.ts:1 [known-room] the room utils has no row in scripts/directions.mjs',
    ]);
  });
});

describe('one-index', () => {
  it('a package has one index.ts', () => {
    expect(
      found({
        'packages/core/src/index.ts': '',
        'packages/core/src/pages/index.ts': '',
        'packages/server/index.ts': '',
        'bench/src/index.ts': '',
      }),
    ).toEqual([
      'packages/core/src/pages/index.ts:1 [one-index] a package has one index.ts, at src/index.ts',
      'packages/server/index.ts:1 [one-index] a package has one index.ts, at src/index.ts',
    ]);
  });
});

describe('no-cycle', () => {
  it('tells the shortest way round, once', () => {
    expect(
      found({
        'packages/core/src/pages/a.ts': importing('./b.ts'),
        'packages/core/src/pages/b.ts': importing('./c.ts'),
        'packages/core/src/pages/c.ts': importing('./a.ts') + importing('./b.ts'),
        'packages/core/src/pages/d.ts': importing('./a.ts'),
      }),
    ).toEqual([
      'packages/core/src/pages/a.ts:2 [no-cycle] these files import each other: packages/core/src/pages/a.ts → packages/core/src/pages/b.ts → packages/core/src/pages/c.ts → packages/core/src/pages/a.ts',
    ]);
  });

  it('a file that imports itself is a cycle, two knots are two', () => {
    expect(
      found({
        'packages/server/src/a.ts': importing('./a.ts'),
        'packages/server/src/b.ts': importing('./c.js'),
        'packages/server/src/c.ts': importing('./b.ts'),
      }),
    ).toEqual([
      'packages/server/src/a.ts:2 [no-cycle] these files import each other: packages/server/src/a.ts → packages/server/src/a.ts',
      'packages/server/src/b.ts:2 [no-cycle] these files import each other: packages/server/src/b.ts → packages/server/src/c.ts → packages/server/src/b.ts',
    ]);
  });
});

describe('core-built-ins', () => {
  it.each(['node:fs', 'fs', 'fs/promises', 'node:timers/promises'])('core does not import %s', (specifier) => {
    expect(found({ 'packages/core/src/pages/page.ts': importing(specifier) })).toEqual([
      `packages/core/src/pages/page.ts:2 [core-built-ins] core may import node:crypto of Node's built-ins; this imports ${specifier}`,
    ]);
  });

  it('node:crypto, tests and other packages are free', () => {
    expect(
      found({
        'packages/core/src/pages/page.ts': importing('node:crypto'),
        'packages/core/src/pages/page.test.ts': importing('node:fs'),
        'packages/server/src/http.ts': importing('node:fs'),
      }),
    ).toEqual([]);
  });
});

describe('client-pure', () => {
  it('the device SDK knows the outside world in one file only', () => {
    const y = 'export const y = () => Date.now();\n';
    expect(
      found({
        'packages/client/src/engine/engine.ts': y,
        'packages/client/src/engine/engine.test.ts': y,
        'packages/client/src/default-platform.ts': y,
      }),
    ).toEqual([
      'packages/client/src/engine/engine.ts:1 [client-pure] client gets the outside world through its ports; this uses Date.now()',
    ]);
  });
});

describe('core-pure', () => {
  it.each(['Date.now()', 'new Date()', 'Math.random()', 'performance.now()', 'setTimeout()', 'setInterval()'])(
    'core does not use %s',
    (call) => {
      expect(
        found({
          'packages/core/src/pages/page.ts': `export const x = 1;\n\nexport const y = () => ${call};\n`,
          'packages/core/src/pages/page.test.ts': `export const y = () => ${call};\n`,
          'packages/core/src/pages/told.ts': `// Not by ${call}.\nexport const text = '${call}';\n`,
          'packages/server/src/clock.ts': `export const y = () => ${call};\n`,
        }),
      ).toEqual([
        `packages/core/src/pages/page.ts:3 [core-pure] core gets the outside world through its ports; this uses ${call}`,
      ]);
    },
  );

  it('a date made from a given time is no clock', () => {
    expect(found({ 'packages/core/src/stats/step.ts': 'export const at = (ms: number) => new Date(ms);' })).toEqual([]);
  });
});

describe('names-as-written', () => {
  it('what others have written is not read by JSON.parse', () => {
    const y = '// JSON.parse(text)\nexport const y = (text: string) => JSON.parse(text);\n';
    expect(
      found({
        'packages/core/src/journal/record.ts': y,
        'packages/core/src/journal/record.test.ts': y,
        'packages/store-embedded/src/partitions.ts': y,
        'packages/protocol/src/parse-json.ts': y,
      }),
    ).toEqual([
      'packages/core/src/journal/record.ts:2 [names-as-written] JSON is read by parseJson of @tidemark/protocol, which says why; this uses JSON.parse()',
    ]);
  });
});
