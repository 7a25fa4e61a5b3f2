import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { isEntry, ROOT } from './processes.mjs';

/** What the console is made of, relative to the root. */
const INPUTS = [
  'packages/console',
  'packages/backend/src',
  'packages/client/src',
  'packages/protocol/src',
  'scripts/build-console.mjs',
  'package-lock.json',
];
/** Inside the server package, which is published with it. */
const OUTPUT = 'packages/server/console';
const STAMP = '.inputs';
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
};
/** Smaller files do not get smaller by compression. */
const GZIP_BYTES_MIN = 512;

/** Builds the web console unless its inputs are those of the last build. Returns whether it was built. */
export async function buildConsole(root = ROOT) {
  const stamp = inputsHash(root);
  const output = join(root, OUTPUT);
  const stampFile = join(output, STAMP);
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return false;
  const { build } = await import('vite');
  const { default: react } = await import('@vitejs/plugin-react');
  const source = (name) => join(root, `packages/${name}.ts`);
  await build({
    root: join(root, 'packages/console'),
    base: '/console/',
    configFile: false,
    logLevel: 'warn',
    plugins: [react()],
    // From the sources, so that the compiler can run at the same time.
    resolve: {
      alias: [
        { find: /^@tidemark\/backend\/transport$/, replacement: source('backend/src/client/transport') },
        { find: /^@tidemark\/(backend|client|protocol)$/, replacement: join(root, 'packages/$1/src/index.ts') },
      ],
    },
    build: {
      outDir: output,
      emptyOutDir: true,
      assetsInlineLimit: 0,
      modulePreload: { polyfill: false },
      chunkSizeWarningLimit: 1_000,
    },
  });
  writeList(output);
  writeFileSync(stampFile, stamp);
  return true;
}

/** Compresses the files, and lists them for the server. */
function writeList(output) {
  const files = filesIn(output).sort();
  const listed = files.map((file) => {
    const bytes = readFileSync(file);
    const hasGzip = bytes.length >= GZIP_BYTES_MIN;
    if (hasGzip) writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
    const hash = createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
    return [
      relative(output, file).replaceAll('\\', '/'),
      { type: TYPES[extname(file)] ?? 'application/octet-stream', hash, hasGzip },
    ];
  });
  writeFileSync(join(output, 'files.json'), JSON.stringify(Object.fromEntries(listed)));
}

function inputsHash(root) {
  const hash = createHash('sha256');
  const paths = INPUTS.flatMap((path) => (extname(path) === '' ? filesIn(join(root, path)) : [join(root, path)]));
  const used = paths.filter((path) => !/\.test\.tsx?$|\.tsbuildinfo$|[\\/](?:dist|node_modules)[\\/]/.test(path));
  for (const path of used.sort()) hash.update(`${relative(root, path)}\0`).update(readFileSync(path));
  return hash.digest('hex');
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

if (isEntry(import.meta.url)) await buildConsole();
