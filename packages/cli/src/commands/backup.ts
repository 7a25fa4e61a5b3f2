import { mkdirSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError } from 'commander';
import type { Cli } from '../cli.ts';
import { CliFailure } from '../cli-failure.ts';
import { configOf, withDataFlags } from '../config-flags.ts';
import { withExamples } from '../examples.ts';
import { entriesOf, requireDataFolder, requireEmbedded } from '../local/data-folder.ts';
import { pruneBackups } from '../local/prune-backups.ts';
import { withStore } from '../local/with-store.ts';

interface BackupOptions {
  readonly keep?: number;
}

export function addBackup(program: Command, cli: Cli): void {
  const command = withDataFlags(program.command('backup'))
    .description('Copy a data folder, also while a server works on it')
    .argument('<folder>', 'where to; it must not exist or be empty')
    .option('--keep <n>', 'then delete the oldest backups beside it, until this many are left', positiveNumber)
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
  const deleted = keep === null ? [] : pruneBackups(target, keep);
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
