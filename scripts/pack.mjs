import { execFile } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { isEntry, ROOT } from './processes.mjs';
import { setup } from './setup.mjs';

/** Where `npm run pack` puts the tarballs; `tidemark init` in a checkout installs from there. */
export const TARBALLS = join(ROOT, 'tarballs');

/** The folders of the packages that are published, relative to the root. */
export function publishedPackages(root = ROOT) {
  return readdirSync(join(root, 'packages'))
    .map((name) => `packages/${name}`)
    .filter((folder) => !readManifest(root, folder).private);
}

export function readManifest(root, folder) {
  return JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8'));
}

/** Makes a tarball of every published package and returns their paths. */
export async function packAll(destination) {
  rmSync(destination, { recursive: true, force: true });
  mkdirSync(destination, { recursive: true });
  const workspaces = publishedPackages().flatMap((folder) => ['--workspace', folder]);
  const args = ['pack', '--json', '--pack-destination', destination, ...workspaces];
  await promisify(execFile)('npm', args, { cwd: ROOT, shell: process.platform === 'win32', maxBuffer: 100_000_000 });
  return readdirSync(destination)
    .sort()
    .map((name) => join(destination, name));
}

if (isEntry(import.meta.url)) {
  await setup();
  const tarballs = await packAll(resolve(process.argv[2] ?? TARBALLS));
  process.stdout.write(`${tarballs.join('\n')}\nInstall them together: npm install ${TARBALLS}/*.tgz\n`);
}
