import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { removeLastBundle } from './bundle-cli.mjs';
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

/** The files of a package in a checkout, relative to the root; without dependencies. */
export function filesBelow(root, path) {
  return readdirSync(join(root, path), { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory()) return entry.name === 'node_modules' ? [] : filesBelow(root, `${path}/${entry.name}`);
    return entry.isFile() ? [`${path}/${entry.name}`] : [];
  });
}

/** npm packs these files of every package, whatever `files` in its manifest says. */
const ALWAYS_PACKED = ['LICENSE', 'README.md', 'package.json'];

/** Returns the files that `npm pack` puts into the tarball of a built package, relative to its folder. */
export function packedFiles(root, folder) {
  const { files } = readManifest(root, folder);
  const strange = files.filter((name) => !/^[a-z]+$/.test(name));
  if (strange.length > 0) throw new Error(`${folder}/package.json: expected names of folders in files, got ${strange}`);
  const below = files.flatMap((name) => filesBelow(root, `${folder}/${name}`));
  const always = ALWAYS_PACKED.filter((name) => existsSync(join(root, folder, name)));
  return [...always, ...below.map((path) => path.slice(folder.length + 1))];
}

/** Gives all files the mode that they have with the usual umask: npm keeps modes, and tarballs must not depend on them. */
function normalizeModes(root) {
  for (const path of publishedPackages(root).flatMap((folder) => filesBelow(root, folder))) {
    const { mode } = statSync(join(root, path));
    const wanted = (mode & 0o100) === 0 ? 0o644 : 0o755;
    if ((mode & 0o777) !== wanted) chmodSync(join(root, path), wanted);
  }
}

/** Makes a tarball of every published package of a checkout that is built, and returns their paths. */
export async function packAll(destination, root = ROOT) {
  rmSync(destination, { recursive: true, force: true });
  mkdirSync(destination, { recursive: true });
  removeLastBundle(root);
  normalizeModes(root);
  const workspaces = publishedPackages(root).flatMap((folder) => ['--workspace', folder]);
  const args = ['pack', '--json', '--pack-destination', destination, ...workspaces];
  await promisify(execFile)('npm', args, { cwd: root, shell: process.platform === 'win32', maxBuffer: 100_000_000 });
  return readdirSync(destination)
    .sort()
    .map((name) => join(destination, name));
}

if (isEntry(import.meta.url)) {
  await setup();
  const tarballs = await packAll(resolve(process.argv[2] ?? TARBALLS));
  process.stdout.write(`${tarballs.join('\n')}\nInstall them together: npm install ${TARBALLS}/*.tgz\n`);
}
