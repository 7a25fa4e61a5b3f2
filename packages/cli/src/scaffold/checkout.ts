import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseJson } from '@tidemark/protocol';
import { readVersion } from '@tidemark/server/version';

/** The CLI, the server and the packages they depend on. An app that installs from tarballs must list all of them. */
const PACKAGES = ['protocol', 'core', 'store-embedded', 'store-valkey', 'client', 'backend', 'server', 'cli'];

/** Returns the root of the checkout that this program runs from; null when it was installed as a package. */
export function findCheckout(): string | null {
  const root = resolve(fileURLToPath(import.meta.url), '../../../../..');
  const manifest = join(root, 'package.json');
  if (!existsSync(manifest) || !existsSync(join(root, 'packages/server'))) return null;
  const { name } = parseJson(readFileSync(manifest, 'utf8')) as { readonly name?: unknown };
  return name === 'tidemark' ? root : null;
}

/** Returns where `npm run pack` puts the tarballs of a checkout. */
export function tarballFolder(checkout: string): string {
  return join(checkout, 'tarballs');
}

/** Returns the dependencies of an app that uses the tarballs of a checkout. */
export function tarballsOf(checkout: string): Readonly<Record<string, string>> {
  const entries = PACKAGES.map((name) => {
    return [`@tidemark/${name}`, `file:${join(tarballFolder(checkout), `tidemark-${name}-${readVersion()}.tgz`)}`];
  });
  return Object.fromEntries(entries);
}
