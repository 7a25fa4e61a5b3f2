import { existsSync, readFileSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseJson } from '@tidemark/protocol';
import { readVersion } from '@tidemark/server/version';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import { appFiles } from '../scaffold/app-files.ts';

export function addInit(program: Command, cli: Cli): void {
  const command = program
    .command('init')
    .description('Create an app folder with two sources and their tests')
    .argument('[folder]', 'by default the working folder')
    .action(async (folder = '.') => {
      const root = resolve(cli.folder, folder);
      const checkout = findCheckout();
      await makeApp(
        root,
        checkout === null
          ? { '@tidemark/cli': readVersion(), '@tidemark/server': readVersion() }
          : tarballsOf(checkout),
      );
      cli.terminal.out(`${root} is an app. In it, npm install and then npm test; npm run dev starts the server.\n`);
      if (checkout !== null) cli.terminal.out(adviceFor(checkout));
    });
  withExamples(command, 'tidemark init my-app', 'tidemark init');
}

/** Creates the files of an app. It never overwrites a file. */
export async function makeApp(root: string, dependencies: Readonly<Record<string, string>>): Promise<void> {
  if (existsSync(root) && (await readdir(root)).length > 0) {
    throw new CliFailure(`${root} is not empty; name a folder that is new or empty`);
  }
  for (const [name, text] of appFiles(dependencies)) {
    const file = join(root, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: 'wx' });
  }
}

function adviceFor(checkout: string): string {
  const packed = existsSync(tarballFolder(checkout)) ? '' : `; run npm run pack in ${checkout} first`;
  return `Tidemark's packages are not published yet, so it installs them from ${tarballFolder(checkout)}${packed}.\n`;
}

/** The CLI, the server and the packages they depend on. An app that installs from tarballs must list all of them. */
const PACKAGES = ['protocol', 'core', 'store-embedded', 'store-valkey', 'client', 'backend', 'server', 'cli'];

/** Returns the root of the checkout that this program runs from; null when it was installed as a package. */
function findCheckout(): string | null {
  const root = resolve(fileURLToPath(import.meta.url), '../../../../..');
  const manifest = join(root, 'package.json');
  if (!existsSync(manifest) || !existsSync(join(root, 'packages/server'))) return null;
  const { name } = parseJson(readFileSync(manifest, 'utf8')) as { readonly name?: unknown };
  return name === 'tidemark' ? root : null;
}

/** Returns where `npm run pack` puts the tarballs of a checkout. */
function tarballFolder(checkout: string): string {
  return join(checkout, 'tarballs');
}

/** Returns the dependencies of an app that uses the tarballs of a checkout. */
function tarballsOf(checkout: string): Readonly<Record<string, string>> {
  const entries = PACKAGES.map((name) => {
    return [`@tidemark/${name}`, `file:${join(tarballFolder(checkout), `tidemark-${name}-${readVersion()}.tgz`)}`];
  });
  return Object.fromEntries(entries);
}
