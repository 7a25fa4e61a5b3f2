import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isEntry, ROOT } from './processes.mjs';

// Writes the rows of biome.json that say which folder of a package may import which, from the table in directions.json.
// `--check` writes nothing and fails if they differ.

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
  const config = readConfig();
  const written = withRows(config, readTable());
  if (config === written) process.stdout.write(`${CONFIG_FILE} has the rows of ${TABLE_FILE}\n`);
  else if (process.argv.includes('--check')) {
    process.stdout.write(`${CONFIG_FILE} differs from ${TABLE_FILE}: run \`node scripts/directions.mjs\`\n`);
    process.exitCode = 1;
  } else {
    writeFileSync(join(ROOT, CONFIG_FILE), written);
    process.stdout.write(`${CONFIG_FILE} now has the rows of ${TABLE_FILE}\n`);
  }
}
