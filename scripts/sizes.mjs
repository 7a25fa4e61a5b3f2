import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { isEntry, ROOT } from './processes.mjs';
import { setup } from './setup.mjs';

/** What apps put into their pages: entry, what it leaves out, and its bound in bytes, minified and compressed by Brotli. */
export const BUNDLES = [
  {
    name: '@tidemark/client',
    entry: 'packages/client/dist/index.js',
    external: [],
    // Everything an app loads at its start, whatever it uses of it.
    bytesMax: 24_000,
    // What is loaded later: everything that uses the network, with checksums and the JSON reader, tabs, files, sources on the disk,
    // last results, debug reports, translation between versions of schemas.
    laterBytesMax: 39_400,
  },
  {
    name: '@tidemark/react',
    entry: 'packages/react/dist/index.js',
    external: [/^react$/, /^@tidemark\//],
    bytesMax: 3_000,
    laterBytesMax: 0,
  },
  {
    name: '@tidemark/tanstack-db',
    entry: 'packages/tanstack-db/dist/index.js',
    external: [/^@tanstack\/db$/, /^@tidemark\//],
    bytesMax: 2_000,
    laterBytesMax: 0,
  },
  {
    name: '@tidemark/sqlite',
    entry: 'packages/sqlite/dist/index.js',
    external: [/^@tidemark\//],
    // With the objects table: indexes, scans, checksums, and the conversion of databases of earlier versions.
    bytesMax: 5_500,
    // The store that replaces damaged databases.
    laterBytesMax: 2_500,
  },
  {
    name: '@tidemark/sqlite/opfs',
    entry: 'packages/sqlite/dist/opfs/open-opfs-store.js',
    external: [/^@tidemark\//],
    // Without the worker and SQLite, which it loads.
    bytesMax: 7_000,
    laterBytesMax: 1_500,
  },
  {
    name: '@tidemark/react-native',
    entry: 'packages/react-native/dist/index.js',
    external: [/^@tidemark\//],
    bytesMax: 3_500,
    laterBytesMax: 0,
  },
  {
    name: '@tidemark/devtools',
    entry: 'packages/devtools/dist/index.js',
    external: [/^@tidemark\//],
    bytesMax: 4_000,
    laterBytesMax: 0,
  },
];

/** Bundles an entry as an app would, with everything it exports, and returns its sizes in bytes. */
export async function sizeOf({ entry, external }, root = ROOT) {
  const bundle = await rolldown({ input: join(root, entry), external, platform: 'browser' });
  const comments = { annotation: false, legal: false, jsdoc: false };
  const { output } = await bundle.generate({ format: 'esm', minify: true, comments });
  await bundle.close();
  const first = loadedAtOnce(output);
  const code = codeOf(first);
  const laterCode = codeOf(output.filter((chunk) => !first.includes(chunk)));
  return {
    minified: Buffer.byteLength(code),
    gzip: gzipSync(code, { level: 9 }).length,
    brotli: brotliCompressSync(code).length,
    later: laterCode === '' ? 0 : brotliCompressSync(laterCode).length,
    imports: output
      .flatMap((chunk) => chunk.imports ?? [])
      .filter((name) => !output.some((chunk) => chunk.fileName === name)),
  };
}

/** Returns the chunks that the entry loads, without those of dynamic imports. */
function loadedAtOnce(output) {
  const loaded = output.filter((chunk) => chunk.isEntry);
  for (const chunk of loaded) {
    const imported = output.filter(({ fileName }) => chunk.imports?.includes(fileName));
    loaded.push(...imported.filter((other) => !loaded.includes(other)));
  }
  return loaded;
}

function codeOf(chunks) {
  return chunks.map((chunk) => chunk.code ?? '').join('');
}

if (isEntry(import.meta.url)) {
  await setup();
  for (const bundle of BUNDLES) {
    const { minified, gzip, brotli, later } = await sizeOf(bundle);
    process.stdout.write(
      `${bundle.name}: ${brotli} of ${bundle.bytesMax} bytes (gzip ${gzip}, minified ${minified}), later ${later}\n`,
    );
    if (brotli > bundle.bytesMax || later > bundle.laterBytesMax) process.exitCode = 1;
  }
}
