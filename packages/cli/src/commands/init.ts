import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { withExamples } from '../examples.ts';
import { appFiles } from '../scaffold/app-files.ts';
import { dependenciesOf, findPackages, tarballsIn } from '../scaffold/find-packages.ts';
import { webFiles } from '../scaffold/web-files.ts';

/** What `init` can make: the files, the packages of Tidemark they need, and what to do next. */
const TEMPLATES = {
  modules: { files: appFiles, packages: ['cli', 'server'], next: 'npm test; npm run dev starts the server' },
  web: {
    files: webFiles,
    packages: ['backend', 'cli', 'client', 'react'],
    next: 'npm run dev, which starts the server and the app and says where they are',
  },
} as const;

export type Template = keyof typeof TEMPLATES;

interface InitOptions {
  readonly template?: Template;
  readonly tarballs?: string;
}

export function addInit(program: Command, cli: Cli): void {
  const command = program
    .command('init')
    .description('Create an app: source modules for the server, or a web app with Vite and React')
    .argument('[folder]', 'by default the working folder')
    .addOption(
      new Option('--template <template>', 'modules: sources in the server; web: a web app with Vite and React').choices(
        Object.keys(TEMPLATES),
      ),
    )
    .option('--tarballs <folder>', 'install Tidemark from the tarballs in this folder')
    .action(async (folder = '.', { template, tarballs }: InitOptions = {}) => {
      const root = resolve(cli.folder, folder);
      const origin = tarballs === undefined ? findPackages() : tarballsIn(resolve(cli.folder, tarballs));
      const { files, packages, next } = TEMPLATES[template ?? (await askTemplate(cli))];
      await makeApp(root, files(dependenciesOf(packages, origin)));
      cli.terminal.out(`${root} is an app. In it, npm install and then ${next}.\n`);
      if (origin.advice !== null) cli.terminal.out(`${origin.advice}\n`);
    });
  withExamples(command, 'tidemark init my-app --template web', 'tidemark init my-sources --template modules');
}

/** Asks only where somebody can answer. */
async function askTemplate({ terminal }: Cli): Promise<Template> {
  if (!terminal.isInteractive) return 'modules';
  const answer = await terminal.ask('Make a web app with Vite and React? (Otherwise sources for the server) [y/N] ');
  return /^y/i.test(answer.trim()) ? 'web' : 'modules';
}

/** Creates the files of an app. It never overwrites a file. */
export async function makeApp(root: string, files: ReadonlyMap<string, string>): Promise<void> {
  if (existsSync(root) && (await readdir(root)).length > 0) {
    throw new CliFailure(`${root} is not empty; name a folder that is new or empty`);
  }
  for (const [name, text] of files) {
    const file = join(root, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text, { flag: 'wx' });
  }
}
