import { mkdirSync, statSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { type BackupFiles, backUp, FILES_FOLDER, removeUnneededFiles } from '@tidemark/server/backups/backup-files';
import { backupsIn, deleteBackup } from '@tidemark/server/backups/backup-folder';
import { openFilesOf } from '@tidemark/server/files/file-place';
import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure, usageFailure } from '../cli-failure.ts';
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
  if (basename(target) === FILES_FOLDER) throw usageFailure(`${FILES_FOLDER} is the name of the folder with the files`);
  if (entriesOf(target).length > 0) throw new CliFailure(`${target} is not empty; a backup needs a folder of its own`);
  // A backup holds password hashes, so only its owner may read it.
  mkdirSync(target, { recursive: true, mode: 0o700 });
  const files = await withStore(config, config.dataFolder, (store) => {
    const openEngine = () => openFilesOf(config, store);
    return backUp({ store, files: config.files.s3 === null ? { store, openEngine } : null }, target);
  });
  const bytes = entriesOf(target).reduce((sum, name) => sum + statSync(join(target, name)).size, 0);
  // Older backups are deleted only after the new one is complete.
  const deleted = keep === null ? [] : await pruneBackups(target, keep);
  const print = cli.printer(command);
  if (print.isJson) print.json({ data: config.dataFolder, backup: target, bytes, files, deleted });
  else tell(cli, { target, files, deleted, copied: `${config.dataFolder} (${bytes} bytes)` });
  if (files !== null && files.wrong > 0) {
    throw new CliFailure(`${files.wrong} of ${files.files} files are gone or damaged, and are not in the backup`, {
      hint: 'tidemark verify names them',
    });
  }
}

interface Told {
  readonly target: string;
  readonly copied: string;
  readonly files: BackupFiles | null;
  readonly deleted: readonly string[];
}

function tell(cli: Cli, { target, copied, files, deleted }: Told): void {
  cli.terminal.say(`Copied ${copied}.`);
  if (files === null) cli.terminal.say('The files of objects are in a bucket, which is not copied.');
  else if (files.files > 0) {
    const folder = join(dirname(target), FILES_FOLDER);
    cli.terminal.say(`${folder} has the ${files.files} files that it refers to (${files.bytes} bytes).`);
  }
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
  if (tooMany.length > 0) await removeUnneededFiles(dirname(newest), Date.now());
  return tooMany.map(({ folder }) => folder);
}
