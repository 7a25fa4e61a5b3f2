import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { readTree, report } from './files.mjs';
import { isEntry, ROOT } from './processes.mjs';

// Writes the rows of biome.json that say which folder of a package may import which, from the table in directions.json:
// folder → other folders and top-level files that it may import; every folder may import the files of `files`. Folders
// stand in layers: each imports only those above it. `bothWays` lists the pairs that still import each other.
// `--check` writes nothing and fails if the rows differ.

const TABLE_FILE = 'scripts/directions.json';
const CONFIG_FILE = 'biome.json';
/** A row replaces other options of the same rule, so the rows of these packages repeat this one. */
const STORE_PATTERN = { group: ['@tidemark/store-*'], message: 'Only open-engines.ts imports a store.' };
const WITHOUT_STORES = new Set(['packages/server', 'packages/cli']);

export const readTable = (root = ROOT) => JSON.parse(readFileSync(join(root, TABLE_FILE), 'utf8'));

export const readConfig = (root = ROOT) => readFileSync(join(root, CONFIG_FILE), 'utf8');

/** Returns the text of biome.json with the rows of the table in place of those that it has. */
export function withRows(config, table) {
  const lines = config.split('\n');
  const isRow = (line) => line.includes(TABLE_FILE);
  const first = lines.findIndex(isRow);
  if (first === -1) throw new Error(`${CONFIG_FILE} has no row whose message names ${TABLE_FILE}`);
  const end = lines.findLastIndex(isRow) + 1;
  return [...lines.slice(0, first), rowsOf(table).join(',\n'), ...lines.slice(end)].join('\n');
}

/** Returns the folders of a package in which a file other than a test is. */
export function foldersOf(name, root = ROOT) {
  const source = join(root, name, 'src');
  const folders = readdirSync(source, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.map((folder) => folder.name).filter((folder) => depthOf(join(source, folder)) > 0);
}

/**
 * Finds folders that import each other, and permissions that would allow it.
 *
 * @param {object} table the table of directions.json
 * @param {Map<string, Set<string>>} imports folder → the folders that it imports, as paths
 * @returns {string[]} what is wrong
 */
export function directionProblems(table, imports) {
  return Object.entries(table).flatMap(([name, { folders, bothWays = [] }]) => {
    const names = Object.keys(folders);
    const known = new Set(bothWays.map(({ pair }) => [...pair].sort().join(' and ')));
    const upwards = names.flatMap((folder, index) => {
      const below = folders[folder].filter((target) => names.indexOf(target) >= index);
      return below
        .filter((target) => !known.has([folder, target].sort().join(' and ')))
        .map((target) => {
          return `${TABLE_FILE} lets ${folder} of ${name} import ${target}, which is not above it`;
        });
    });
    const found = pairsOf(name, names, imports);
    return [
      ...upwards,
      ...found.filter((pair) => !known.has(pair)).map((pair) => `${pair} of ${name} import each other`),
      ...[...known]
        .filter((pair) => !found.includes(pair))
        .map((pair) => {
          return `${pair} of ${name} do not import each other any more: remove them from ${TABLE_FILE}`;
        }),
    ];
  });
}

/** Reads which folder of a package imports which; imports of tests do not count. */
export function readImports(root = ROOT) {
  const imports = new Map();
  for (const [path, text] of readTree(root, ['packages'], /\/src\/.+(?<!\.test)\.tsx?$/)) {
    const folder = folderOf(path);
    const targets = imports.get(folder) ?? new Set();
    for (const [, target] of text.matchAll(/\b(?:from|import)\s*\(?\s*'(\.[^']+)'/g)) {
      targets.add(folderOf(posix.join(posix.dirname(path), target)));
    }
    imports.set(folder, targets);
  }
  return imports;
}

const folderOf = (path) => path.split('/').slice(0, 4).join('/');

function pairsOf(name, folders, imports) {
  const isImport = (from, to) => imports.get(`${name}/src/${from}`)?.has(`${name}/src/${to}`) ?? false;
  return folders.flatMap((one) => {
    const others = folders.filter((other) => one < other && isImport(one, other) && isImport(other, one));
    return others.map((other) => `${one} and ${other}`);
  });
}

function rowsOf(table) {
  return Object.entries(table).flatMap(([name, { files = [], folders }]) => {
    return Object.entries(folders).flatMap(([folder, allowed]) => rowsOfFolder(name, folder, [...allowed, ...files]));
  });
}

/** Biome compares an import as it is written, so files one folder deeper need a row of their own. */
function rowsOfFolder(name, folder, allowed) {
  const path = `${name}/src/${folder}`;
  const message = `${path} may import ${allowed.length === 0 ? 'no other folder' : `only: ${allowed.join(', ')}`}. See ${TABLE_FILE}.`;
  return Array.from({ length: depthOf(join(ROOT, path)) }, (_, depth) => {
    const up = '../'.repeat(depth + 1);
    const group = [`${up}**`, ...allowed.map((target) => `!${up}${target.includes('.') ? target : `${target}/**`}`)];
    const patterns = [...(WITHOUT_STORES.has(name) ? [STORE_PATTERN] : []), { group, message }];
    const includes = [`${path}/${'*/'.repeat(depth)}**`, '!**/*.test.ts'];
    const rule = { level: 'error', options: { patterns } };
    return `    ${JSON.stringify({ includes, linter: { rules: { style: { noRestrictedImports: rule } } } })}`;
  });
}

/** Returns how many levels of folders hold files other than tests: 1 if there are no folders below. */
function depthOf(folder) {
  const entries = readdirSync(folder, { withFileTypes: true });
  const below = entries.filter((entry) => entry.isDirectory()).map(({ name }) => depthOf(join(folder, name)));
  const hasSource = entries.some(({ name }) => /(?<!\.test)\.tsx?$/.test(name));
  const deepest = Math.max(0, ...below);
  return deepest > 0 ? deepest + 1 : Number(hasSource);
}

if (isEntry(import.meta.url)) {
  const table = readTable();
  const config = readConfig();
  const written = withRows(config, table);
  const problems = directionProblems(table, readImports());
  if (process.argv.includes('--check')) {
    if (config !== written) problems.push(`${CONFIG_FILE} differs from ${TABLE_FILE}: run node scripts/directions.mjs`);
  } else writeFileSync(join(ROOT, CONFIG_FILE), written);
  report(problems, `${CONFIG_FILE} has the rows of ${TABLE_FILE}, and no other folders import each other`);
}
