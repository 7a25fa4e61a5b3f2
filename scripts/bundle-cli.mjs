import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { isEntry, ROOT } from './processes.mjs';

const OUTPUT = 'packages/cli/bundle';
const ENTRY = 'run.js';
/** Names the files that are left of the bundle before. */
const LEFT = 'packages/cli/bundle.left.json';
/** What the command line loads, and the programs that the server starts as threads and processes. */
const INPUTS = {
  run: 'packages/cli/dist/run.js',
  'writer-thread': 'packages/store-embedded/dist/writer-thread.js',
  'read-all': 'packages/store-embedded/dist/read-all.js',
  'verify-process': 'packages/server/dist/backups/verify-process.js',
};
/** Packages with native code, or that load modules by their path. The command line depends on them for the bundle. */
const EXTERNAL = /^(?:lmdb|jiti|@node-rs\/argon2)$/;
/** Packages that name `__dirname` in comments, in code that is not used, or to compare it with lines of a stack. */
const FOLDER_NOT_NEEDED = /^(?:commander|pino|thread-stream|ioredis|@fastify\/swagger)$/;
const VIEWER = '@fastify/swagger-ui';
/** Where the files are that the server reads: its own package, and the viewer of the API. */
const PATHS = 'tidemark:paths';
const PATHS_CODE = `
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
const server = createRequire(import.meta.url).resolve('@tidemark/server');
export const serverUrl = pathToFileURL(server).href;
export const viewerFolder = (path) => join(dirname(createRequire(server).resolve('${VIEWER}')), path);
`;
const LICENCE_FILE = /^(?:licen[cs]e|copying)(?:[.-].*)?$/i;

/** Bundles the command line and the server into few files, unless nothing has changed since the last time. */
export async function bundleCli(root = ROOT) {
  if (!isStale(root)) return;
  const startedAt = new Date();
  // Not installed yet when the setup of a fresh clone loads this file.
  const { rolldown } = await import('rolldown');
  const unfinished = join(root, `${OUTPUT}.new`);
  rmSync(unfinished, { recursive: true, force: true });
  const bundle = await rolldown({
    cwd: root,
    input: INPUTS,
    platform: 'node',
    external: EXTERNAL,
    plugins: [keepPaths(root)],
    // A slow machine is no reason for a warning.
    checks: { pluginTimings: false, bundlerTimings: false },
  });
  const { output: chunks } = await bundle.write({
    dir: unfinished,
    format: 'esm',
    sourcemap: true,
    entryFileNames: '[name].js',
    chunkFileNames: '[name]-[hash].js',
    comments: { annotation: false, jsdoc: false, legal: false },
  });
  await bundle.close();
  writeFileSync(join(unfinished, 'LICENCES.txt'), licenceTexts(root, chunks));
  // A change while the bundle was made is newer than the bundle.
  utimesSync(join(unfinished, ENTRY), startedAt, startedAt);
  replaceBundle(root, unfinished);
}

/**
 * Moves the files of a bundle over those of the last one. A server that has begun to load the last one still finds all
 * of its chunks, whose names differ whenever their content does: they stay until the bundle after this one is made.
 */
function replaceBundle(root, unfinished) {
  const output = join(root, OUTPUT);
  mkdirSync(output, { recursive: true });
  removeLastBundle(root);
  const before = readdirSync(output);
  // The entry comes last, because it needs all others.
  const files = readdirSync(unfinished).filter((file) => file !== ENTRY);
  for (const file of [...files, ENTRY]) renameSync(join(unfinished, file), join(output, file));
  rmSync(unfinished, { recursive: true });
  const left = before.filter((file) => file !== ENTRY && !files.includes(file));
  writeFileSync(join(root, LEFT), JSON.stringify(left));
}

/** Removes the files that only the bundle before this one has. They do not belong into a package. */
export function removeLastBundle(root = ROOT) {
  const list = join(root, LEFT);
  if (!existsSync(list)) return;
  for (const file of JSON.parse(readFileSync(list, 'utf8'))) rmSync(join(root, OUTPUT, file), { force: true });
  rmSync(list);
}

/** Compares times as `find-bundle.ts` of the command line does, which knows neither the lock file nor this script. */
function isStale(root) {
  const entry = join(root, OUTPUT, ENTRY);
  if (!existsSync(entry)) return true;
  const { mtimeMs } = statSync(entry);
  const records = readdirSync(join(root, 'packages')).map((name) => `packages/${name}/tsconfig.tsbuildinfo`);
  return [...records, 'package-lock.json', 'scripts/bundle-cli.mjs'].some((path) => {
    return existsSync(join(root, path)) && statSync(join(root, path)).mtimeMs >= mtimeMs;
  });
}

/** Keeps paths that modules build from their own right, and the source maps of the compiler. */
function keepPaths(root) {
  return {
    name: 'keep-paths',
    resolveId: (id) => (id === PATHS ? id : null),
    load(id) {
      if (id === PATHS) return PATHS_CODE;
      const path = relative(root, id).replaceAll('\\', '/');
      const [, name, file] = /^packages\/([^/]+)\/dist\/(.+\.js)$/.exec(path) ?? [];
      if (name !== undefined) return loadOwn(id, { name, file, parse: (code) => this.parse(code) });
      return /node_modules\/.*\.c?js$/.test(path) ? loadForeign(id, path) : null;
    },
  };
}

/** Our own modules keep the URL of the file that the compiler made; the programs are found beside the bundle. */
function loadOwn(id, { name, file, parse }) {
  let code = readFileSync(id, 'utf8');
  const urls = code.includes('import.meta.url') ? ownUrlsIn(parse(code)) : [];
  const own = {
    cli: `new URL('../dist/${file}', import.meta.url).href`,
    server: `new URL('./${file}', serverUrl).href`,
  };
  for (const { start, end } of urls.reverse()) {
    const [, program] = /([\w-]+)\.js', $/.exec(code.slice(0, start)) ?? [];
    if (program in INPUTS) {
      code = `${code.slice(0, start).replace(/'[^']+', $/, `'./${program}.js', `)}${code.slice(start)}`;
    } else {
      if (!(name in own)) throw new Error(`${id}: a bundled module of this package cannot look for files beside it`);
      code = code.slice(0, start) + own[name] + code.slice(end);
    }
  }
  const more = code.includes(', serverUrl).href') ? `\nimport { serverUrl } from '${PATHS}';\n` : '';
  return { code: code + more, map: readFileSync(`${id}.map`, 'utf8') };
}

/** Returns where the code, as opposed to a text in it, says `import.meta.url`. */
function ownUrlsIn(node) {
  if (typeof node !== 'object' || node === null) return [];
  if (node.type === 'MemberExpression' && node.object.type === 'MetaProperty') return [node];
  return Object.values(node).flatMap(ownUrlsIn);
}

function loadForeign(id, path) {
  const code = readFileSync(id, 'utf8');
  if (!/\b__dirname\b/.test(code)) return null;
  const { name, folder } = packageOf(path);
  if (name !== VIEWER && !FOLDER_NOT_NEEDED.test(name))
    throw new Error(`${path}: __dirname is not known in the bundle`);
  const within = dirname(relative(folder, path));
  const known = name === VIEWER ? `require('${PATHS}').viewerFolder('${within}')` : `'${name}/${within}'`;
  return code.replace(/\b__dirname\b/g, known);
}

/** The package of a file in node_modules: its name, and its folder relative to the root. */
function packageOf(path) {
  const [folder, name] = /^.*node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path);
  return { name, folder };
}

/** The licences of all packages that the bundle contains code of. */
function licenceTexts(root, chunks) {
  const paths = chunks.flatMap(({ moduleIds = [] }) => moduleIds.map((id) => relative(root, id).replaceAll('\\', '/')));
  const folders = new Set(paths.filter((path) => path.includes('node_modules/')).map((path) => packageOf(path).folder));
  return [...folders]
    .sort()
    .map((folder) => {
      const { name, version, license } = JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
      const all = readdirSync(join(root, folder));
      const files = all.filter((file) => LICENCE_FILE.test(file));
      // The page of a package without such a file says it.
      if (files.length === 0) files.push(...all.filter((file) => /^readme/i.test(file)));
      const texts = files.sort().map((file) => readFileSync(join(root, folder, file), 'utf8').trim());
      return [`${name} ${version} (${license})`, ...texts].join('\n\n');
    })
    .join(`\n\n${'-'.repeat(80)}\n\n`)
    .concat('\n');
}

if (isEntry(import.meta.url)) await bundleCli();
