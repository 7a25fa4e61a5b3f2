import { resolve } from 'node:path';
import { openFileEngine } from '@tidemark/server/files/open-file-engine';
import type { Command } from 'commander';
import type { Cli } from '../cli.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { examples } from '../examples.ts';
import { requireDataFolder } from '../local/data-folder.ts';
import { openNamedFiles, settleFiles } from '../local/settle-files.ts';
import { withStore } from '../local/with-store.ts';

interface AdoptOptions {
  readonly from?: string;
  readonly acceptMissing?: boolean;
}

/** Works on the data and not through a server, which does not start while its files are at another place. */
export function addAdopt(files: Command, cli: Cli): void {
  withDataFlags(files.command('adopt'))
    .description('Make the folder or bucket of the configuration the place of the files, after they were moved there')
    .addHelpText(
      'before',
      examples(
        'tidemark files adopt --data /var/lib/tidemark',
        'tidemark files adopt --data /var/lib/tidemark --from /var/lib/tidemark/files',
      ),
    )
    .option('--from <folder>', 'copy the files that are not there yet from this folder')
    .option('--accept-missing', 'go on although files are missing or damaged; they are asked for again')
    .action((options: AdoptOptions, self: Command) => adopt(cli, self, options));
}

async function adopt(cli: Cli, command: Command, { from, acceptMissing }: AdoptOptions): Promise<void> {
  const { config } = configOf(command, cli);
  if (config.store === 'embedded') requireDataFolder(config.dataFolder);
  const { place, ...settled } = await withStore(config, config.dataFolder, async (store) => {
    const to = await openFileEngine(config);
    const source = from === undefined ? null : await openNamedFiles(resolve(cli.folder, from));
    const isMissingAccepted = acceptMissing === true;
    return { place: to.place, ...(await settleFiles({ config, store, from: source, to, isMissingAccepted })) };
  });
  const print = cli.printer(command);
  if (print.isJson) return print.json({ place, ...settled });
  cli.terminal.say(
    `${settled.files} files are in ${place}; ${settled.copied} were copied, ${settled.wrong} are missing.`,
  );
}
