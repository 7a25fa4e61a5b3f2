import { createWriteStream, rmSync } from 'node:fs';
import { resolve } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Command } from 'commander';
import type { Cli, CommandAction } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { counted } from '../counted.ts';
import { commandGroup, examples } from '../examples.ts';
import { confirm } from '../input.ts';
import { wholeNumber } from './sources.ts';

const COLUMNS = ['name', 'made_at', 'bytes'] as const;
const NAME = '2030-01-31T12-00-00-000Z';

interface Confirmed {
  readonly yes?: boolean;
}

/** Backups that a running server makes and holds. `tidemark backup` works on a data folder instead. */
export function addBackups(program: Command, cli: Cli): void {
  const backups = commandGroup(
    program,
    'backups',
    'The backups that a server makes and holds',
    'tidemark backups create',
    'tidemark backups list',
    `tidemark backups download ${NAME} --output monday.tar`,
    'tidemark backups prune --keep 14 --yes',
  );
  backups
    .command('list')
    .description('List the backups of the server, newest first')
    .addHelpText('before', examples('tidemark backups list', 'tidemark backups list --json'))
    .action(cli.remote(list));
  backups
    .command('create')
    .description('Make a backup on the server, which goes on meanwhile')
    .addHelpText('before', examples('tidemark backups create', 'tidemark backups create --timeout 600'))
    .action(
      cli.remote(async ({ api, print, timeoutMs }, _options: object) =>
        print.record(await api.backups.create({ timeoutMs })),
      ),
    );
  addDownload(backups, cli);
  addVerify(backups, cli);
  addDelete(backups, cli);
  addPrune(backups, cli);
}

const list: CommandAction<[object]> = async ({ api, print }) => {
  const found = await api.backups.list();
  if (print.isJson) return print.json(found);
  print.table(found.backups, COLUMNS);
};

function addDownload(backups: Command, cli: Cli): void {
  backups
    .command('download')
    .description('Download a backup as a tar archive, whose folder tidemark restore takes')
    .addHelpText('before', examples(`tidemark backups download ${NAME} --output monday.tar`))
    .argument('<name>', 'the name in the list')
    .requiredOption('--output <file>', 'the file to write; it must not exist')
    .action(
      cli.remote(async ({ api, print }, name: string, { output }: { readonly output: string }) => {
        const file = resolve(cli.folder, output);
        await writeDownload(file, await api.backups.download(name));
        if (print.isJson) return print.json({ name, file });
        cli.terminal.out(`${file}\n`);
      }),
    );
}

/** Writes a new file that only its owner may read, because it may hold secrets. A download that broke leaves none. */
export async function writeDownload(file: string, bytes: AsyncIterable<Uint8Array>): Promise<void> {
  const target = createWriteStream(file, { flags: 'wx', mode: 0o600 });
  try {
    await pipeline(Readable.from(bytes), target);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') throw new CliFailure(`${file} exists already`);
    rmSync(file, { force: true });
    throw error;
  }
}

function addVerify(backups: Command, cli: Cli): void {
  backups
    .command('verify')
    .description('Let the server check a backup for damage')
    .addHelpText('before', examples(`tidemark backups verify ${NAME}`))
    .argument('<name>', 'the name in the list')
    .action(
      cli.remote(async ({ api, print, timeoutMs }, name: string, _options: object) => {
        const check = await api.backups.verify(name, { timeoutMs });
        if (print.isJson) print.json(check);
        else print.table(check.findings, ['source', 'problem', 'detail']);
        if (!check.is_undamaged)
          throw new CliFailure(`${name} is damaged in ${counted(check.findings_count, 'place')}`);
        if (!print.isJson) cli.terminal.say(`${name} is undamaged.`);
      }),
    );
}

function addDelete(backups: Command, cli: Cli): void {
  backups
    .command('delete')
    .description('Delete a backup')
    .addHelpText('before', examples(`tidemark backups delete ${NAME}`))
    .argument('<name>', 'the name in the list')
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print, url }, name: string, { yes }: Confirmed) => {
        await confirm(cli, {
          warning: `The backup ${name} of ${url} will be deleted.`,
          name,
          isConfirmed: yes === true,
        });
        print.record(await api.backups.delete(name));
      }),
    );
}

function addPrune(backups: Command, cli: Cli): void {
  backups
    .command('prune')
    .description('Delete the oldest backups until a number of them is left')
    .addHelpText('before', examples('tidemark backups prune --keep 14', 'tidemark backups prune --keep 14 --yes'))
    .requiredOption('--keep <n>', 'how many stay', wholeNumber)
    .option('--yes', 'do not ask for confirmation')
    .action(
      cli.remote(async ({ api, print, url }, { keep, yes }: Confirmed & { readonly keep: number }) => {
        const warning = `All but the newest ${keep} backups of ${url} will be deleted.`;
        await confirm(cli, { warning, name: new URL(url).host, isConfirmed: yes === true });
        print.table(await api.backups.prune(keep), COLUMNS);
      }),
    );
}
