import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { declaringFile, readDeclarations } from './declarations.mjs';
import { isEntry, ROOT } from './processes.mjs';
import { setup } from './setup.mjs';

/** The packages that apps and backends call, with the entry points that they may import; null: all of them. */
const PUBLIC = new Map([
  ['client', null],
  ['react', null],
  ['tanstack-db', null],
  ['react-native', null],
  ['sqlite', null],
  ['devtools', null],
  ['client-testing', null],
  ['backend', null],
  ['server', ['./app']],
]);
const CONSTRUCTOR = /^ *constructor\([\s\S]*?\);$/gm;
const COMMAND = 'node scripts/api-report.mjs --write';

/** The reports of packages that are built: path → text. */
function apiReports(root = ROOT) {
  const reports = [...PUBLIC].map(([name, paths]) => {
    const folder = join(root, 'packages', name);
    const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
    const entries = Object.entries(manifest.exports).filter(([path]) => paths === null || paths.includes(path));
    const files = entries.map(([path, { types }]) => [`${manifest.name}${path.slice(1)}`, join(folder, types)]);
    return [`packages/${name}/api.txt`, reportOf(manifest.name, files)];
  });
  return new Map(reports);
}

/** Says which reports in the repository differ from the packages as they are built, and what to do. */
export function reportProblems(root = ROOT) {
  const read = (path) => (existsSync(join(root, path)) ? readFileSync(join(root, path), 'utf8') : '');
  const stale = [...apiReports(root)].filter(([path, text]) => read(path) !== text);
  return stale.map(
    ([path]) => `${path} differs from the package: if you mean to change its public API, run ${COMMAND}`,
  );
}

/**
 * Lists what the entry points of a package export, and then the types of the package that these name. Comments are left out.
 *
 * @param {string} name
 * @param {readonly (readonly [string, string])[]} entries the names of the entry points and their declaration files
 */
export function reportOf(name, entries) {
  const found = entries.flatMap(([entry, file]) => exportedNames(file).map((as) => ({ entry, as, ...find(file, as) })));
  const seen = new Map();
  for (const one of found) if (one.from === undefined && !seen.has(keyOf(one))) seen.set(keyOf(one), one);
  const named = addNamed(seen);
  const lineOf = (one) => {
    const place = one.from ?? seen.get(keyOf(one)).entry;
    if (place !== one.entry) return `${one.as}: see ${place}`;
    return one.as === one.title ? codeOf(one, seen) : `as ${one.as}:\n${codeOf(one, seen)}`;
  };
  const sections = entries.map(([entry]) => [entry, found.filter((one) => one.entry === entry).map(lineOf)]);
  if (named.length > 0) sections.push(['Types that these name', named.map((one) => codeOf(one, seen)).sort()]);
  const head = `The public API of ${name}, written by \`${COMMAND}\`.\n`;
  return [head, ...sections.map(([title, texts]) => `## ${title}\n\n${texts.join('\n\n')}\n`)].join('\n');
}

function exportedNames(file) {
  const { declarations, links } = readDeclarations(file);
  const own = declarations.filter(({ isExported }) => isExported).map(({ title }) => title);
  return [...new Set([...own, ...links.filter(({ isExport }) => isExport).map(({ as }) => as)])].sort();
}

/** Adds the declarations that those in `seen` name, and those that these name, and returns them. */
function addNamed(seen) {
  const exported = new Set(seen.values());
  // A map visits what is added to it meanwhile.
  for (const { file, declarations } of seen.values()) {
    for (const name of typesIn(plain(declarations).replace(CONSTRUCTOR, ''))) {
      const found = find(file, name);
      if (found?.file !== undefined && !seen.has(keyOf(found))) seen.set(keyOf(found), found);
    }
  }
  return [...seen.values()].filter((one) => !exported.has(one));
}

/** Finds the declarations of a name that a file declares, imports or exports. */
function find(file, name) {
  const { declarations, links } = readDeclarations(file);
  const own = declarations.filter(({ title }) => title === name);
  if (own.length > 0) return { file, title: name, declarations: own };
  const link = links.find(({ as }) => as === name);
  if (link === undefined) return null;
  const target = declaringFile(file, link.from);
  return target === null ? { from: link.from } : find(target, link.name);
}

function keyOf({ file, title }) {
  return `${file}#${title}`;
}

function plain(declarations) {
  const texts = declarations.map(({ code }) =>
    code.replace(/^ *\/\*\*[\s\S]*?\*\/\n/gm, '').replace(/ *\/\*\*.*?\*\//g, ''),
  );
  return texts.join('\n');
}

/** The text of declarations. A constructor that takes what only the package itself has is not for others. */
function codeOf({ file, declarations }, seen) {
  return plain(declarations).replace(CONSTRUCTOR, (text) => {
    const own = [...typesIn(text)].map((name) => find(file, name)).filter((found) => found?.file !== undefined);
    return own.every((found) => seen.has(keyOf(found))) ? text : '    constructor(…);';
  });
}

function typesIn(text) {
  return new Set(text.match(/\b[A-Z]\w*\b/g));
}

if (isEntry(import.meta.url)) {
  await setup();
  if (process.argv.includes('--write')) {
    for (const [path, text] of apiReports()) writeFileSync(join(ROOT, path), text);
  }
  const problems = reportProblems();
  for (const problem of problems) process.stderr.write(`${problem}\n`);
  process.exitCode = problems.length > 0 ? 1 : 0;
}
