import { mkdirSync, statSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { backupsIn, deleteBackup } from '@tidemark/server/backups/backup-folder';
import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { withExamples } from '../examples.ts';
import { entriesOf, requireDataFolder, requireEmbedded } from '../local/data-folder.ts';
import { withStore } from '../local/with-store.ts';

interface BackupOptions {
  readonly keep?: number;
}

export function addBackup(program: Command, cli: Cli): void {
  const command = withDataFlags(program.command('backup'))
    .description('Back up a data folder, also while a server uses it')
    .argument('<folder>', 'the target folder; it must be empty or not exist')
    .option(
      '--keep <n>',
      'then delete the oldest backups in the same parent folder, until this many are left',
      positiveNumber,
    )
    .action(async (target: string, { keep }: BackupOptions, self: Command) => {
      await backup(cli, self, resolve(cli.folder, target), keep ?? null);
    });
  withExamples(
    command,
    'tidemark backup /backups/monday',
    'tidemark backup --data /var/lib/tidemark "/backups/$(date +%F)" --keep 14',
  );
}

async function backup(cli: Cli, command: Command, target: string, keep: number | null): Promise<void> {
  const { config } = configOf(command, cli);
  requireEmbedded(config);
  requireDataFolder(config.dataFolder);
  if (entriesOf(target).length > 0) throw new CliFailure(`${target} is not empty; a backup needs a folder of its own`);
  // A backup holds password hashes, so only its owner may read it.
  mkdirSync(target, { recursive: true, mode: 0o700 });
  await withStore(config, config.dataFolder, (store) => store.backup(target));
  const bytes = entriesOf(target).reduce((sum, name) => sum + statSync(join(target, name)).size, 0);
  // Older backups are deleted only after the new one is complete.
  const deleted = keep === null ? [] : await pruneBackups(target, keep);
  const print = cli.printer(command);
  if (print.isJson) return print.json({ data: config.dataFolder, backup: target, bytes, deleted });
  cli.terminal.say(`Copied ${config.dataFolder} (${bytes} bytes).`);
  for (const folder of deleted) cli.terminal.say(`Deleted the older backup ${folder}.`);
  cli.terminal.out(`${target}\n`);
}

function positiveNumber(text: string): number {
  if (/^[1-9][0-9]{0,5}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('It must be a whole number from 1.');
}

/**
 * Deletes the oldest backups in the folder that holds `newest`, until `keep` are left, and returns the folders it deleted.
 * Only folders that say they are backups are counted and deleted; one that a server has opened since is data, and stays.
 */
export async function pruneBackups(newest: string, keep: number): Promise<readonly string[]> {
  const others = (await backupsIn(dirname(newest))).filter(({ folder }) => folder !== newest);
  const tooMany = others.slice(keep - 1);
  for (const backup of tooMany) await deleteBackup(backup);
  return tooMany.map(({ folder }) => folder);
}
