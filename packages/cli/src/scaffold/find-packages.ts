import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseJson } from '@tidemark/protocol';
import { readVersion } from '@tidemark/server/version';
import { CliFailure } from '../cli-failure.ts';

/** Where an app gets the packages of Tidemark from. */
export interface PackageOrigin {
  /** The folder of the tarballs; null: the registry. */
  readonly tarballs: string | null;
  /** Advice for the user; null: none is needed. */
  readonly advice: string | null;
}

/** Everything that is installed with the others. An app that installs from tarballs must list all of them. */
const ALL_PACKAGES = ['protocol', 'core', 'store-embedded', 'store-valkey', 'client', 'backend', 'server', 'cli'];

/**
 * Finds out where this program was installed from, so that an app it makes can be installed as well while nothing is
 * published: from a checkout, from the tarballs that npm was given, or from the registry.
 */
export function findPackages(program = fileURLToPath(import.meta.url)): PackageOrigin {
  const folder = packageFolder(program);
  const checkout = resolve(folder, '../..');
  if (nameIn(checkout) === 'tidemark') return inCheckout(join(checkout, 'tarballs'), checkout);
  return { tarballs: installedFrom(folder), advice: null };
}

/** Returns the dependencies of an app that uses some of the packages. */
export function dependenciesOf(
  names: readonly string[],
  { tarballs }: PackageOrigin,
): Readonly<Record<string, string>> {
  const version = readVersion();
  if (tarballs === null) return Object.fromEntries(names.map((name) => [`@tidemark/${name}`, version]));
  const all = [...new Set([...ALL_PACKAGES, ...names])];
  return Object.fromEntries(
    all.map((name) => [`@tidemark/${name}`, `file:${join(tarballs, `tidemark-${name}-${version}.tgz`)}`]),
  );
}

/** Checks a folder that the user has named. */
export function tarballsIn(folder: string): PackageOrigin {
  const file = join(folder, `tidemark-cli-${readVersion()}.tgz`);
  if (existsSync(file)) return { tarballs: folder, advice: null };
  throw new CliFailure(`there is no ${file}; npm run pack in a checkout of Tidemark makes the tarballs`);
}

function inCheckout(tarballs: string, checkout: string): PackageOrigin {
  const packed = existsSync(tarballs) ? '' : `; run npm run pack in ${checkout} first`;
  return {
    tarballs,
    advice: `Tidemark's packages are not published yet, so it installs them from ${tarballs}${packed}.`,
  };
}

function packageFolder(file: string): string {
  let folder = dirname(file);
  while (nameIn(folder) !== '@tidemark/cli' && dirname(folder) !== folder) folder = dirname(folder);
  return folder;
}

function nameIn(folder: string): unknown {
  return (readJson(join(folder, 'package.json')) as { readonly name?: unknown } | null)?.name;
}

/** npm notes in a hidden lock file where each package came from, relative to the folder that it installed into. */
function installedFrom(folder: string): string | null {
  const modules = resolve(folder, '../..');
  const lock = readJson(join(modules, '.package-lock.json')) as HiddenLock | null;
  const resolved = lock?.packages?.['node_modules/@tidemark/cli']?.resolved;
  if (typeof resolved !== 'string' || !resolved.startsWith('file:') || !resolved.endsWith('.tgz')) return null;
  return dirname(resolve(dirname(modules), resolved.slice('file:'.length)));
}

interface HiddenLock {
  readonly packages?: Readonly<Record<string, { readonly resolved?: unknown }>>;
}

function readJson(file: string): unknown {
  try {
    return parseJson(readFileSync(file, 'utf8'));
  } catch {
    return null;
  }
}
