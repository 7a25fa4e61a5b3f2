import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { rolldown } from 'rolldown';
import { isEntry, ROOT } from './processes.mjs';
import { setup } from './setup.mjs';

/** What apps put into their pages: entry, what it leaves out, and its bound in bytes, minified and compressed by Brotli. */
export const BUNDLES = [
  { name: '@tidemark/client', entry: 'packages/client/dist/index.js', external: [], bytesMax: 22_000 },
  {
    name: '@tidemark/react',
    entry: 'packages/react/dist/index.js',
    external: [/^react$/, /^@tidemark\//],
    bytesMax: 3_000,
  },
];

/** Bundles an entry as an app would, with everything it exports, and returns its sizes in bytes. */
export async function sizeOf({ entry, external }, root = ROOT) {
  const bundle = await rolldown({ input: join(root, entry), external, platform: 'browser' });
  const comments = { annotation: false, legal: false, jsdoc: false };
  const { output } = await bundle.generate({ format: 'esm', minify: true, comments });
  await bundle.close();
  const code = output.map((chunk) => chunk.code ?? '').join('');
  return {
    minified: Buffer.byteLength(code),
    gzip: gzipSync(code, { level: 9 }).length,
    brotli: brotliCompressSync(code).length,
    imports: output.flatMap((chunk) => chunk.imports ?? []),
  };
}

if (isEntry(import.meta.url)) {
  await setup();
  for (const bundle of BUNDLES) {
    const { minified, gzip, brotli } = await sizeOf(bundle);
    process.stdout.write(
      `${bundle.name}: ${brotli} of ${bundle.bytesMax} bytes (gzip ${gzip}, minified ${minified})\n`,
    );
    if (brotli > bundle.bytesMax) process.exitCode = 1;
  }
}
