import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { readVersion } from '@tidemark/server/version';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import { appFiles } from '../scaffold/app-files.ts';
import { findCheckout, tarballFolder, tarballsOf } from '../scaffold/checkout.ts';

export function addInit(program: Command, cli: Cli): void {
  const command = program
    .command('init')
    .description('Make an app folder with two sources and their tests')
    .argument('[folder]', 'the working folder when left out')
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
