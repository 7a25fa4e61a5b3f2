import { builtinModules } from 'node:module';
import { posix } from 'node:path';
import { cyclesOf } from './cycles.mjs';
import { isEntry, ROOT } from './processes.mjs';
import { importsOf, lineAt, scan } from './scan.mjs';
import { readTree, report } from './tree.mjs';

/** What each package may import. `store-*` stands for every engine, `*` for every package. */
const PACKAGES = {
  protocol: [],
  core: ['protocol'],
  'store-*': ['core', 'protocol'],
  server: ['core', 'protocol', 'store-*', 'client'],
  client: ['protocol'],
  backend: ['protocol'],
  console: ['backend', 'protocol'],
  testing: ['*'],
  sim: ['*'],
  bench: ['*'],
};

/** What only tests may import, beside the packages that may import everything. */
const ONLY_FOR_TESTS = ['server', 'testing', 'sim'];

/** What each room of core/src may import; files directly in core/src may import every room. */
const ROOMS = {
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

const OPEN_ENGINES = 'packages/server/src/open-engines.ts';
const CLIENT_PLATFORM = 'packages/client/src/default-platform.ts';
const CORE_BUILT_INS = ['node:crypto'];

/** The outside world, which core gets through its ports. Named as someone would write them. */
const OUTSIDE_WORLD = {
  'Date.now()': /\bDate\s*\.\s*now\b/g,
  'new Date()': /\bnew\s+Date\b(?!\s*\(\s*[^)\s])/g,
  'Math.random()': /\bMath\s*\.\s*random\b/g,
  'performance.now()': /\bperformance\s*\.\s*now\b/g,
  'setTimeout()': /\bsetTimeout\b/g,
  'setInterval()': /\bsetInterval\b/g,
};

/** Who reads what others have written, so by `parseJson`: `JSON.parse` of some versions of V8 mistakes names. */
const READERS_OF_OTHERS = ['core', 'client', 'backend', 'server', 'console'];

/**
 * Everything in the tree that breaks a direction.
 *
 * @param {Map<string, string>} texts path relative to the root, with `/` → source text
 * @returns {{file: string, line: number, rule: string, detail: string}[]}
 */
export function violationsOf(texts) {
  const files = [...texts].map(([path, text]) => describe(path, text, texts));
  return [
    ...files.flatMap((file) => [
      ...placeViolations(file),
      ...file.imports.flatMap((entry) => importViolations(file, entry)),
      ...(isCoreProduct(file) ? outsideWorldViolations(file, 'core-pure', 'core') : []),
      ...(isClientProduct(file) ? outsideWorldViolations(file, 'client-pure', 'client') : []),
      ...(READERS_OF_OTHERS.includes(file.owner) && !file.isTest ? misreadViolations(file) : []),
    ]),
    ...cycleViolations(files),
  ];
}

export function formatViolation({ file, line, rule, detail }) {
  return `${file}:${line} [${rule}] ${detail}`;
}

export function readSources(root) {
  return readTree(root, ['packages', 'bench', 'scripts', 'examples'], /\.(?:[cm]?[jt]s|[jt]sx)$/);
}

function describe(path, text, texts) {
  const imports = importsOf(text).map(({ specifier, line }) => ({
    specifier,
    line,
    ...targetOf(path, specifier, texts),
  }));
  return { path, text, owner: ownerOf(path), room: roomOf(path), isTest: /\.test\.[cm]?[jt]sx?$/.test(path), imports };
}

function ownerOf(path) {
  return /^packages\/([^/]+)\//.exec(path)?.[1] ?? (path.startsWith('bench/') ? 'bench' : null);
}

function roomOf(path) {
  return /^packages\/core\/src\/([^/]+)\//.exec(path)?.[1] ?? null;
}

/** What an import leads to: a file of this tree, a package of ours, a built-in, or something installed. */
function targetOf(path, specifier, texts) {
  if (specifier.startsWith('.')) {
    const plain = posix.join(posix.dirname(path), specifier);
    const found = [plain, plain.replace(/\.(m?)js(x?)$/, '.$1ts$2'), `${plain}.ts`, `${plain}/index.ts`].find((file) =>
      texts.has(file),
    );
    return { kind: 'file', path: found ?? plain };
  }
  const [, name, inside = ''] = /^@tidemark\/([^/]+)(\/.*)?$/.exec(specifier) ?? [];
  if (name !== undefined) return { kind: 'package', name, inside };
  const isBuiltIn = specifier.startsWith('node:') || builtinModules.includes(specifier.split('/')[0]);
  return { kind: isBuiltIn ? 'built-in' : 'installed' };
}

function placeViolations(file) {
  const found = [];
  if (file.owner !== null && packageRow(file.owner) === null) {
    found.push(violation(file, 1, 'known-package', `the package ${file.owner} has no row in scripts/directions.mjs`));
  }
  if (file.room !== null && ROOMS[file.room] === undefined) {
    found.push(violation(file, 1, 'known-room', `the room ${file.room} has no row in scripts/directions.mjs`));
  }
  const isIndex = /(?:^|\/)index\.(?:[cm]?[jt]s|[jt]sx)$/.test(file.path);
  if (isIndex && file.owner !== null && !/^(?:packages\/[^/]+|bench)\/src\/index\.ts$/.test(file.path)) {
    found.push(violation(file, 1, 'one-index', 'a package has one index.ts, at src/index.ts'));
  }
  return found;
}

function importViolations(file, entry) {
  if (entry.kind === 'package') return packageViolations(file, entry);
  if (entry.kind === 'file') return fileViolations(file, entry);
  if (entry.kind === 'built-in' && isCoreProduct(file) && !CORE_BUILT_INS.includes(entry.specifier)) {
    const detail = `core may import ${CORE_BUILT_INS.join(', ')} of Node's built-ins; this imports ${entry.specifier}`;
    return [violation(file, entry.line, 'core-built-ins', detail)];
  }
  return [];
}

function packageViolations(file, { line, name, inside }) {
  const found = [];
  if (/^\/(?:src|dist)(?:\/|$)/.test(inside)) {
    found.push(violation(file, line, 'package-inside', `this reaches into the inside of ${name}: ${inside.slice(1)}`));
  }
  if (!mayImport(file, name)) found.push(violation(file, line, 'package-direction', packageDetail(file, name)));
  if (file.owner?.startsWith('store-') && name === 'core' && inside !== '/ports' && !file.isTest) {
    found.push(violation(file, line, 'engines-know-ports', 'of the core, an engine knows @tidemark/core/ports alone'));
  }
  if (file.owner === 'server' && matches('store-*', name) && file.path !== OPEN_ENGINES) {
    const detail = `only ${OPEN_ENGINES} may import an engine; this imports ${name}`;
    found.push(violation(file, line, 'engines-in-one-file', detail));
  }
  return found;
}

function mayImport(file, name) {
  const row = packageRow(file.owner);
  if (row?.includes('*')) return true;
  if (ONLY_FOR_TESTS.includes(name)) return file.isTest;
  if (name === file.owner) return file.isTest;
  return row === null || row.some((allowed) => matches(allowed, name));
}

function packageDetail(file, name) {
  if (name === file.owner) return `${name} imports itself by name; inside a package imports are relative`;
  const who = file.owner ?? file.path.split('/')[0];
  if (ONLY_FOR_TESTS.includes(name)) return `only tests may import ${name}, and this file of ${who} is none`;
  return `${who} may import ${listed(packageRow(file.owner))}; this imports ${name}`;
}

function fileViolations(file, { line, path }) {
  const owner = ownerOf(path);
  if (owner !== file.owner) {
    if (owner === null) return [];
    return [violation(file, line, 'package-inside', `this reaches into the inside of ${owner}: ${path}`)];
  }
  const allowed = ROOMS[file.room];
  // A test may put together what it needs.
  if (owner !== 'core' || allowed === undefined || file.isTest) return [];
  const room = roomOf(path);
  if (room === file.room || allowed.includes(room)) return [];
  const target = room ?? `the facade (${path})`;
  return [
    violation(file, line, 'room-direction', `${file.room} may import ${listed(allowed)}; this imports ${target}`),
  ];
}

function outsideWorldViolations(file, rule, who) {
  const { code } = scan(file.text);
  return Object.entries(OUTSIDE_WORLD).flatMap(([name, pattern]) =>
    [...code.matchAll(pattern)].map(({ index }) =>
      violation(file, lineAt(code, index), rule, `${who} gets the outside world through its ports; this uses ${name}`),
    ),
  );
}

function misreadViolations(file) {
  const { code } = scan(file.text);
  const detail = 'JSON is read by parseJson of @tidemark/protocol, which says why; this uses JSON.parse()';
  return [...code.matchAll(/\bJSON\s*\.\s*parse\b/g)].map(({ index }) =>
    violation(file, lineAt(code, index), 'names-as-written', detail),
  );
}

function cycleViolations(files) {
  const graph = new Map(
    files
      .filter(({ owner }) => owner !== null)
      .map((file) => [file.path, new Set(insideImports(file).map(({ path }) => path))]),
  );
  const byPath = new Map(files.map((file) => [file.path, file]));
  return cyclesOf(graph).map((cycle) => {
    const file = byPath.get(cycle[0]);
    const { line } = file.imports.find(({ kind, path }) => kind === 'file' && path === (cycle[1] ?? cycle[0]));
    return violation(file, line, 'no-cycle', `these files import each other: ${[...cycle, cycle[0]].join(' → ')}`);
  });
}

function insideImports(file) {
  return file.imports.filter(({ kind, path }) => kind === 'file' && ownerOf(path) === file.owner);
}

function isCoreProduct(file) {
  return file.path.startsWith('packages/core/src/') && !file.isTest;
}

/** Devices are tested with a clock, dice and timers of the test; only one file knows the real ones. */
function isClientProduct(file) {
  return file.owner === 'client' && !file.isTest && file.path !== CLIENT_PLATFORM;
}

function packageRow(name) {
  if (name === null) return null;
  return Object.entries(PACKAGES).find(([pattern]) => matches(pattern, name))?.[1] ?? null;
}

function matches(pattern, name) {
  return pattern.endsWith('-*') ? name.startsWith(pattern.slice(0, -1)) : pattern === name;
}

function listed(names) {
  return names.length === 0 ? 'nothing' : names.join(', ');
}

function violation(file, line, rule, detail) {
  return { file: file.path, line, rule, detail };
}

if (isEntry(import.meta.url)) {
  const sources = readSources(ROOT);
  report(violationsOf(sources).map(formatViolation), `${sources.size} files, every import goes the right way`);
}
