import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const STAMP = 'node_modules/.tidemark-install.json';
const DEPENDENCY_KINDS = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
const PLATFORM = `${process.platform}-${process.arch}`;

/**
 * Are other dependencies installed than the lock file asks for? A tree that `npm install` has just made is right as it
 * is: it is recognised by npm's own record of what it installed, and stamped instead of made again.
 */
export function dependenciesAreStale(root) {
  if (!existsSync(join(root, 'node_modules'))) return true;
  const stamp = readJson(join(root, STAMP));
  if (stamp !== null && stamp.platform !== PLATFORM) return true;
  if (stamp?.fingerprint === fingerprint(root)) return false;
  if (!installedAsLocked(root)) return true;
  stampDependencies(root);
  return false;
}

export function stampDependencies(root) {
  writeFileSync(join(root, STAMP), JSON.stringify({ platform: PLATFORM, fingerprint: fingerprint(root) }));
}

export function forgetDependencies(root) {
  rmSync(join(root, STAMP), { force: true });
}

/**
 * Did `npm ci` refuse only because the lock file lacks optional packages, those of other platforms? A registry that does
 * not have them all makes npm write such lock files (npm/cli#4828). `npm install` takes everything else from the same
 * lock file, so that nothing but the platform's own package is chosen anew.
 */
export function lacksOnlyOptional(root, output) {
  const complaints = [...output.matchAll(/^npm error (?:Missing|Invalid): .*$/gm)].map(([line]) => line);
  const locked = readJson(join(root, 'package-lock.json'))?.packages ?? {};
  const optional = new Set(Object.values(locked).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {})));
  const names = complaints.map((line) => /Missing: (@?[^@]+)@.* from lock file$/.exec(line)?.[1]);
  return names.length > 0 && names.every((name) => optional.has(name));
}

/** The folders of the root package and of its workspaces, relative to the root. */
export function packageFolders(root) {
  const { workspaces = [] } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const folders = workspaces.flatMap((pattern) => {
    if (!pattern.endsWith('/*')) return [pattern];
    const parent = pattern.slice(0, -2);
    return readdirSync(join(root, parent))
      .sort()
      .map((name) => `${parent}/${name}`);
  });
  return ['', ...folders.filter((folder) => existsSync(join(root, folder, 'package.json')))];
}

function fingerprint(root) {
  const hash = createHash('sha256');
  for (const file of ['package-lock.json', ...packageFolders(root).map((folder) => join(folder, 'package.json'))]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(join(root, file)))
      .update('\0');
  }
  return hash.digest('hex');
}

function installedAsLocked(root) {
  const locked = readJson(join(root, 'package-lock.json'))?.packages;
  const installed = readJson(join(root, 'node_modules/.package-lock.json'))?.packages;
  if (locked === undefined || installed === undefined) return false;
  return (
    packageFolders(root).every((folder) => lockKnows(root, folder, locked)) &&
    Object.keys(installed).every((path) => locked[path] !== undefined) &&
    Object.entries(locked).every(
      ([path, entry]) => !path.startsWith('node_modules/') || isInstalled(path, entry, installed),
    )
  );
}

function lockKnows(root, folder, locked) {
  const wanted = readJson(join(root, folder, 'package.json'));
  return DEPENDENCY_KINDS.every((kind) => sameEntries(wanted?.[kind] ?? {}, locked[folder]?.[kind] ?? {}));
}

function isInstalled(path, entry, installed) {
  const found = installed[path];
  if (found === undefined) return entry.optional === true;
  return found.version === entry.version && found.integrity === entry.integrity;
}

function sameEntries(left, right) {
  const names = Object.keys(left);
  return names.length === Object.keys(right).length && names.every((name) => left[name] === right[name]);
}

function readJson(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
