import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { extname, join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';

const STAMP = '.inputs';
const TYPES = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
};
const IS_COMPRESSED = new Set(['.png', '.webp']);
/** Smaller files do not get smaller by compression. */
const GZIP_BYTES_MIN = 512;

/**
 * Runs `build` unless `output` was built from the same inputs before, then compresses the files and lists them for the
 * server. Returns whether it was built.
 *
 * @param {{root: string, inputs: string[], output: string, build: () => Promise<void>}} options
 */
export async function buildOnce({ root, inputs, output, build }) {
  const stamp = inputsHash(root, inputs);
  const stampFile = join(output, STAMP);
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === stamp) return false;
  await build();
  writeList(output);
  writeFileSync(stampFile, stamp);
  return true;
}

function filesIn(folder) {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

export function hashOf(bytes) {
  return createHash('sha256').update(bytes).digest('base64url').slice(0, 22);
}

function writeList(output) {
  const listed = filesIn(output)
    .sort()
    .map((file) => {
      const bytes = readFileSync(file);
      const hasGzip = bytes.length >= GZIP_BYTES_MIN && !IS_COMPRESSED.has(extname(file));
      if (hasGzip) writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
      const type = TYPES[extname(file)] ?? 'application/octet-stream';
      return [relative(output, file).replaceAll('\\', '/'), { type, hash: hashOf(bytes), hasGzip }];
    });
  writeFileSync(join(output, 'files.json'), JSON.stringify(Object.fromEntries(listed)));
}

function inputsHash(root, inputs) {
  const hash = createHash('sha256');
  const paths = inputs.flatMap((path) => (extname(path) === '' ? filesIn(join(root, path)) : [join(root, path)]));
  const used = paths.filter((path) => !/\.test\.tsx?$|\.tsbuildinfo$|[\\/](?:dist|node_modules)[\\/]/.test(path));
  for (const path of used.sort()) hash.update(`${relative(root, path)}\0`).update(readFileSync(path));
  return hash.digest('hex');
}
